//! Values of a program as 64 bits, and back.
//!
//! Hooks take and give 64 bits. What is wider (a vector, a structure, a long double) becomes a hash of its parts, which are
//! taken out one by one: its bytes in memory would have gaps of which nobody knows what is in them.

use allways_epa_format::ValueKind;
use inkwell::builder::{Builder, BuilderError};
use inkwell::context::ContextRef;
use inkwell::types::{BasicTypeEnum, IntType};
use inkwell::values::{AnyValue, BasicValueEnum, IntValue};

/// What parts are multiplied with before the next is added: odd, so no bit is lost.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Makes 64 bits of values, where a builder stands.
pub struct Values<'a, 'ctx> {
    /// Where instructions are added.
    pub builder: &'a Builder<'ctx>,
    /// The context of the module.
    pub context: ContextRef<'ctx>,
}

/// The kind of values of a type.
pub fn kind(of: BasicTypeEnum) -> ValueKind {
    match of {
        BasicTypeEnum::IntType(int) if int.get_bit_width() <= 64 => {
            ValueKind::Int(int.get_bit_width() as u8)
        }
        BasicTypeEnum::PointerType(_) => ValueKind::Pointer,
        BasicTypeEnum::FloatType(float) => {
            let context = float.get_context();
            if float == context.f32_type() {
                ValueKind::Float
            } else if float == context.f64_type() {
                ValueKind::Double
            } else {
                ValueKind::Wide
            }
        }
        BasicTypeEnum::IntType(_) => ValueKind::Wide,
        // Words may be addresses. A structure may be defined in part only: nobody knows what the rest is.
        BasicTypeEnum::VectorType(vector) => match kind(vector.get_element_type()) {
            ValueKind::Int(64) | ValueKind::Pointer | ValueKind::Other => ValueKind::Other,
            _ => ValueKind::Wide,
        },
        _ => ValueKind::Other,
    }
}

impl<'ctx> Values<'_, 'ctx> {
    fn word(&self) -> IntType<'ctx> {
        self.context.i64_type()
    }

    /// A value as 64 bits.
    pub fn bits(&self, value: BasicValueEnum<'ctx>) -> Result<IntValue<'ctx>, BuilderError> {
        // What is not defined may be anything, also something else each time.
        if undefined(value) {
            return Ok(self.word().const_zero());
        }
        match value {
            BasicValueEnum::IntValue(int) => self.widen(int),
            BasicValueEnum::PointerValue(pointer) => {
                self.builder.build_ptr_to_int(pointer, self.word(), "")
            }
            BasicValueEnum::FloatValue(float) => {
                let bits = match float.get_type() {
                    known if known == self.context.f32_type() => 32,
                    known if known == self.context.f64_type() => 64,
                    known if known == self.context.f16_type() => 16,
                    known if known == self.context.x86_f80_type() => 80,
                    known if known == self.context.f128_type() => 128,
                    _ => return Ok(self.word().const_zero()),
                };
                let Ok(type_) = self.context.custom_width_int_type(
                    std::num::NonZeroU32::new(bits).unwrap_or(std::num::NonZeroU32::MIN),
                ) else {
                    return Ok(self.word().const_zero());
                };
                let int = self.builder.build_bit_cast(float, type_, "")?;
                self.widen(int.into_int_value())
            }
            BasicValueEnum::StructValue(parts) => {
                let count = parts.get_type().count_fields();
                self.hash((0..count).map(|part| self.builder.build_extract_value(parts, part, "")))
            }
            BasicValueEnum::ArrayValue(parts) => {
                let count = parts.get_type().len();
                self.hash((0..count).map(|part| self.builder.build_extract_value(parts, part, "")))
            }
            BasicValueEnum::VectorValue(parts) => {
                let count = parts.get_type().get_size();
                self.hash((0..count).map(|part| {
                    let index = self.word().const_int(part.into(), false);
                    self.builder.build_extract_element(parts, index, "")
                }))
            }
            // How many parts there are is not known before the program runs.
            BasicValueEnum::ScalableVectorValue(_) => Ok(self.word().const_zero()),
        }
    }

    fn hash(
        &self,
        parts: impl Iterator<Item = Result<BasicValueEnum<'ctx>, BuilderError>>,
    ) -> Result<IntValue<'ctx>, BuilderError> {
        let factor = self.word().const_int(FACTOR, false);
        let mut hash = self.word().const_zero();
        for part in parts {
            let bits = self.bits(part?)?;
            let product = self.builder.build_int_mul(hash, factor, "")?;
            hash = self.builder.build_int_add(product, bits, "")?;
        }
        Ok(hash)
    }

    /// A whole number as 64 bits; of a wider one, a hash of its words.
    fn widen(&self, int: IntValue<'ctx>) -> Result<IntValue<'ctx>, BuilderError> {
        let width = int.get_type().get_bit_width();
        match width {
            64 => Ok(int),
            0..64 => self.builder.build_int_z_extend(int, self.word(), ""),
            _ => {
                let words = (0..width.div_ceil(64)).map(|word| {
                    let by = int.get_type().const_int(u64::from(word) * 64, false);
                    let shifted = self.builder.build_right_shift(int, by, false, "")?;
                    Ok(self.builder.build_int_truncate(shifted, self.word(), "")?.into())
                });
                self.hash(words)
            }
        }
    }

    /// 64 bits as a value of a type that is no wider.
    pub fn value(
        &self,
        bits: IntValue<'ctx>,
        of: BasicTypeEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, BuilderError> {
        match of {
            BasicTypeEnum::IntType(int) if int.get_bit_width() < 64 => {
                Ok(self.builder.build_int_truncate(bits, int, "")?.into())
            }
            BasicTypeEnum::PointerType(pointer) => {
                Ok(self.builder.build_int_to_ptr(bits, pointer, "")?.into())
            }
            BasicTypeEnum::FloatType(float) if float == self.context.f32_type() => {
                let bits = self.builder.build_int_truncate(bits, self.context.i32_type(), "")?;
                self.builder.build_bit_cast(bits, float, "")
            }
            BasicTypeEnum::FloatType(float) => self.builder.build_bit_cast(bits, float, ""),
            _ => Ok(bits.into()),
        }
    }
}

/// Whether a value is `undef` or `poison`.
fn undefined(value: BasicValueEnum) -> bool {
    let undefined = match value {
        BasicValueEnum::ArrayValue(value) => value.is_undef(),
        BasicValueEnum::IntValue(value) => value.is_undef(),
        BasicValueEnum::FloatValue(value) => value.is_undef(),
        BasicValueEnum::PointerValue(value) => value.is_undef(),
        BasicValueEnum::StructValue(value) => value.is_undef(),
        BasicValueEnum::VectorValue(value) => value.is_undef(),
        BasicValueEnum::ScalableVectorValue(value) => value.is_undef(),
    };
    undefined || value.is_poison()
}
