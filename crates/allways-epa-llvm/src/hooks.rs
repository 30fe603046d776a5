//! Calls of the runtime's hooks.

use crate::values::Values;
use allways_epa_format::ValueKind;
use allways_epa_format::library::{Extra, Text};
use inkwell::AddressSpace;
use inkwell::builder::{Builder, BuilderError};
use inkwell::context::ContextRef;
use inkwell::module::Module;
use inkwell::values::{
    BasicMetadataValueEnum, BasicValueEnum, FunctionValue, IntValue, PointerValue,
};
use std::collections::HashMap;

/// The runtime's hooks, declared in a module.
pub struct Hooks<'a, 'ctx> {
    module: &'a Module<'ctx>,
    context: ContextRef<'ctx>,
    /// With so many values each.
    records: Vec<FunctionValue<'ctx>>,
    record_any: FunctionValue<'ctx>,
    argument: FunctionValue<'ctx>,
    text_length: FunctionValue<'ctx>,
    target: FunctionValue<'ctx>,
    standard: FunctionValue<'ctx>,
    library: FunctionValue<'ctx>,
}

impl<'a, 'ctx> Hooks<'a, 'ctx> {
    /// Declares them.
    pub fn declare(module: &'a Module<'ctx>) -> Self {
        let context = module.get_context();
        let word = context.i64_type();
        let pointer = context.ptr_type(AddressSpace::default());
        let words = |count: usize| vec![word.into(); count];
        let declare = |name: &str, type_| module.add_function(name, type_, None);
        Hooks {
            module,
            records: (0..5)
                .map(|count| {
                    let type_ = word.fn_type(&words(count + 1), false);
                    declare(&format!("__allways_record_{count}"), type_)
                })
                .collect(),
            record_any: declare(
                "__allways_record_n",
                word.fn_type(&[word.into(), pointer.into(), word.into()], false),
            ),
            argument: declare("__allways_argument", word.fn_type(&words(2), false)),
            text_length: declare("__allways_text_length", word.fn_type(&words(2), false)),
            target: declare("__allways_target", word.fn_type(&words(1), false)),
            standard: declare("__allways_standard", word.fn_type(&words(1), false)),
            library: declare("__allways_library", context.void_type().fn_type(&words(1), false)),
            context,
        }
    }
}

/// Calls hooks in one function, where its builder stands.
pub struct Caller<'a, 'ctx> {
    hooks: &'a Hooks<'a, 'ctx>,
    /// Where instructions are added.
    pub builder: &'a Builder<'ctx>,
    function: FunctionValue<'ctx>,
    /// Room on the stack for so many values, of records that have too many for registers.
    room: HashMap<usize, PointerValue<'ctx>>,
}

impl<'a, 'ctx> Caller<'a, 'ctx> {
    /// For one function.
    pub fn new(
        hooks: &'a Hooks<'a, 'ctx>,
        builder: &'a Builder<'ctx>,
        function: FunctionValue<'ctx>,
    ) -> Self {
        Caller { hooks, builder, function, room: HashMap::new() }
    }

    /// Values as bits.
    pub fn values(&self) -> Values<'_, 'ctx> {
        Values { builder: self.builder, context: self.hooks.context }
    }

    fn word(&self, number: u64) -> IntValue<'ctx> {
        self.hooks.context.i64_type().const_int(number, false)
    }

    fn call(
        &self,
        hook: FunctionValue<'ctx>,
        arguments: &[BasicMetadataValueEnum<'ctx>],
    ) -> Result<IntValue<'ctx>, BuilderError> {
        let result = self.builder.build_call(hook, arguments, "")?.try_as_basic_value().basic();
        Ok(result.map_or(self.word(0), |result| result.into_int_value()))
    }

    /// A record with these values: gives back the bits of the first.
    pub fn record(
        &mut self,
        tag: u64,
        values: &[BasicValueEnum<'ctx>],
    ) -> Result<IntValue<'ctx>, BuilderError> {
        let bits = values.iter().map(|value| self.values().bits(*value));
        let bits = bits.collect::<Result<Vec<_>, _>>()?;
        let tag = self.word(tag);
        if let Some(hook) = self.hooks.records.get(bits.len()) {
            let mut arguments = vec![tag.into()];
            arguments.extend(bits.into_iter().map(BasicMetadataValueEnum::from));
            return self.call(*hook, &arguments);
        }
        let room = self.room(bits.len())?;
        for (at, value) in bits.iter().enumerate() {
            // The same as an element's address, without the need to trust that it is one.
            let start = self.builder.build_ptr_to_int(room, self.word(0).get_type(), "")?;
            let address = self.builder.build_int_add(start, self.word(at as u64 * 8), "")?;
            let place = self.builder.build_int_to_ptr(address, room.get_type(), "")?;
            self.builder.build_store(place, *value)?;
        }
        let count = self.word(bits.len() as u64);
        self.call(self.hooks.record_any, &[tag.into(), room.into(), count.into()])
    }

    /// Room is made where the function begins, once for all records with so many values: inside of a loop it would
    /// be more each time.
    fn room(&mut self, count: usize) -> Result<PointerValue<'ctx>, BuilderError> {
        if let Some(room) = self.room.get(&count) {
            return Ok(*room);
        }
        let builder = self.hooks.context.create_builder();
        let block = self.function.get_first_basic_block();
        if let Some(first) = block.and_then(|block| block.get_first_instruction()) {
            builder.position_before(&first);
        }
        let type_ = self.hooks.context.i64_type().array_type(count as u32);
        let room = builder.build_alloca(type_, "")?;
        self.room.insert(count, room);
        Ok(room)
    }

    /// An argument before a call: gives back its bits.
    pub fn argument(
        &self,
        tag: u64,
        value: BasicValueEnum<'ctx>,
    ) -> Result<IntValue<'ctx>, BuilderError> {
        let bits = self.values().bits(value)?;
        self.call(self.hooks.argument, &[self.word(tag).into(), bits.into()])
    }

    /// The context of the module.
    pub fn context(&self) -> ContextRef<'ctx> {
        self.hooks.context
    }

    /// Another hook, all values of which are 64 bits: declared when it is called first. Those that give back nothing give back 0 here.
    pub fn hook(
        &self,
        name: &str,
        values: &[IntValue<'ctx>],
    ) -> Result<IntValue<'ctx>, BuilderError> {
        let word = self.hooks.context.i64_type();
        let words = vec![word.into(); values.len()];
        let hook = self.hooks.module.get_function(name).unwrap_or_else(|| {
            let gives_back =
                matches!(name, "__allways_state" | "__allways_become" | "__allways_release");
            let type_ = if gives_back {
                word.fn_type(&words, false)
            } else {
                self.hooks.context.void_type().fn_type(&words, false)
            };
            self.hooks.module.add_function(name, type_, None)
        });
        let values: Vec<_> = values.iter().map(|value| (*value).into()).collect();
        self.call(hook, &values)
    }

    /// The thread enters or leaves a function of a library that may keep memory for itself.
    pub fn library(&self, enters: bool) -> Result<(), BuilderError> {
        self.call(self.hooks.library, &[self.word(enters.into()).into()]).map(drop)
    }

    /// A further value of the record of a call with these arguments; nothing if there is no such argument.
    pub fn extra(
        &self,
        extra: Extra,
        arguments: &[BasicValueEnum<'ctx>],
    ) -> Result<BasicValueEnum<'ctx>, BuilderError> {
        let bits = |at: usize| match arguments.get(at) {
            Some(argument) => self.values().bits(*argument),
            None => Ok(self.word(0)),
        };
        let pointer = self.hooks.context.ptr_type(AddressSpace::default());
        match extra {
            Extra::Text(Text { argument, limit }) => {
                let limit = limit.map_or(Ok(self.word(u64::MAX)), bits)?;
                let text = bits(argument)?;
                Ok(self.call(self.hooks.text_length, &[text.into(), limit.into()])?.into())
            }
            Extra::Target(argument) => {
                let target = self.call(self.hooks.target, &[bits(argument)?.into()])?;
                Ok(self.builder.build_int_to_ptr(target, pointer, "")?.into())
            }
            Extra::Standard(which) => {
                let stream = self.call(self.hooks.standard, &[self.word(which).into()])?;
                Ok(self.builder.build_int_to_ptr(stream, pointer, "")?.into())
            }
        }
    }
}

/// A tag: the site, the width of the value, and what can be made wrong.
pub fn tag(site: usize, kind: Option<ValueKind>, roles: u64) -> u64 {
    let width = kind.map_or(0, ValueKind::bits);
    // What has no bits of its own cannot be made wrong.
    let roles = if width == 0 { 0 } else { roles };
    site as u64 | width << 32 | roles
}
