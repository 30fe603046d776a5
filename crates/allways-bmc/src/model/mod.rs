//! A program with everything that is to be looked for in it, and what came of that as the one outcome that all checks end
//! in: with a run that can be saved, replayed, minimised and shown.

mod saved;
mod tell;

use crate::check::{Found, Looked, Options, Witness, look};
use crate::program::{Claim, Goal, Origin, Program};
use allways::{
    Bound, Cause, Checkable, Error, MinimiseOptions, Minimised, Outcome, PropertyKind, Replayed,
    Run, RunSize, SavedRun, Story, Verdict, Violation,
};
use std::time::Instant;

/// A program and its goals.
///
/// ```
/// use allways_bmc::{Model, check::Options, lang::compile};
/// let source = "shared uint<4> x; process P { x = 3; } never three: x == 3;";
/// let model = Model::new(compile("three.pbmc", source, &[]).unwrap());
/// let checked = model.check(&Options::default(), &|_| ()).unwrap();
/// assert_eq!(checked.outcome.verdict, allways::Verdict::Violated);
/// assert_eq!(checked.outcome.violation.unwrap().run.events.len(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    program: Program,
    goals: Vec<Goal>,
}

/// What came of a check.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The outcome; of several violations it has the one with the shortest run.
    pub outcome: Outcome,
    /// What came of each goal of [`Model::goals`].
    pub looked: Looked,
}

/// What a goal that was looked for comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judged {
    /// It is as claimed.
    Holds,
    /// It is not.
    Violated,
    /// Within the depth there is no run that decides.
    Open,
}

impl Model {
    /// A program with all of its properties and checks.
    pub fn new(mut program: Program) -> Self {
        let goals = program.goals();
        Model { program, goals }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What is looked for.
    pub fn goals(&self) -> &[Goal] {
        &self.goals
    }

    /// Looks for some goals only, by their names.
    ///
    /// # Errors
    ///
    /// If there is none of such a name.
    pub fn keep(&mut self, names: &[String]) -> Result<(), String> {
        for name in names {
            if !self.goals.iter().any(|goal| goal.name == *name) {
                let all: Vec<String> =
                    self.goals.iter().map(|goal| format!("`{}`", goal.name)).collect();
                let all = if all.is_empty() { "none at all".to_owned() } else { all.join(", ") };
                return Err(format!("there is no property `{name}`, only {all}"));
            }
        }
        if !names.is_empty() {
            self.goals.retain(|goal| names.contains(&goal.name));
        }
        Ok(())
    }

    /// What is claimed of a goal.
    pub fn claim(&self, goal: &Goal) -> Claim {
        match goal.origin {
            Origin::Property(place) => self.program.properties[place].claim,
            Origin::Check(..) => Claim::Always,
        }
    }

    fn kind(&self, goal: &Goal) -> PropertyKind {
        match self.claim(goal) {
            Claim::Always | Claim::Never => PropertyKind::Always,
            Claim::Reachable => PropertyKind::Sometimes,
        }
    }

    /// What it means that something was found or not.
    pub fn judge(&self, goal: &Goal, found: &Found) -> Judged {
        match (self.claim(goal) == Claim::Reachable, found) {
            (true, Found::Run(_)) | (false, Found::Never(_)) => Judged::Holds,
            (false, Found::Run(_)) | (true, Found::Never(_)) => Judged::Violated,
            _ => Judged::Open,
        }
    }

    /// Looks for everything. `told` is called now and then with the depth that is looked at.
    ///
    /// # Errors
    ///
    /// What an external solver did wrong, or a mistake in here.
    pub fn check(
        &self,
        options: &Options,
        told: &(dyn Fn(usize) + Sync),
    ) -> Result<Checked, String> {
        let begin = Instant::now();
        let looked = look(&self.program, &self.goals, options, told)?;
        let mut outcome = Outcome::new("bmc");
        outcome.properties =
            self.goals.iter().map(|goal| (goal.name.clone(), self.kind(goal))).collect();
        let all = || self.goals.iter().zip(&looked.found);
        let judged: Vec<Judged> = all().map(|(goal, found)| self.judge(goal, found)).collect();
        let violated = all().filter_map(|(goal, found)| match (self.judge(goal, found), found) {
            (Judged::Violated, Found::Run(witness)) => Some((goal, witness)),
            _ => None,
        });
        if let Some((goal, witness)) = violated.min_by_key(|(_, witness)| witness.run.steps.len()) {
            let violation = self.violation(goal, witness);
            outcome.story = self.violation_story(&violation).ok();
            outcome.violation = Some(violation);
        } else if let Some((goal, _)) =
            all().find(|(goal, found)| self.judge(goal, found) == Judged::Violated)
        {
            outcome.violation = Some(Violation {
                property: goal.name.clone(),
                cause: Cause::NeverReached,
                run: Run::default(),
                reads: Vec::new(),
            });
        }
        outcome.verdict = match &judged {
            _ if judged.contains(&Judged::Violated) => Verdict::Violated,
            _ if judged.contains(&Judged::Open) => Verdict::Inconclusive,
            _ => Verdict::Holds,
        };
        outcome.complete = outcome.verdict == Verdict::Holds;
        if outcome.verdict == Verdict::Inconclusive {
            let out_of_time = options.time.is_some_and(|time| looked.elapsed >= time);
            let stopped = looked.found.iter().any(|found| matches!(found, Found::Stopped { .. }));
            outcome.bounded_by = Some(match (stopped, out_of_time) {
                (true, true) => Bound::Seconds,
                (true, false) => Bound::Interrupt,
                _ => Bound::Depth,
            });
        }
        if self.goals.is_empty() {
            let what = "there is nothing to check: no property, no assertion, no index that could be out of range";
            outcome.warnings.push(what.to_owned());
        }
        outcome.statistics.elapsed = begin.elapsed();
        Ok(Checked { outcome, looked })
    }

    /// A shortest run to a goal, if there is one that is shorter than this.
    fn shorter(
        &self,
        goal: &Goal,
        witness: &Witness,
        options: &MinimiseOptions,
    ) -> Result<Option<Witness>, String> {
        let Some(depth) = witness.run.steps.len().checked_sub(1) else { return Ok(None) };
        if !options.fewer_events {
            return Ok(None);
        }
        let options = Options {
            depth,
            time: Some(options.max_time),
            stop: options.stop.iter().cloned().collect(),
            ..Options::default()
        };
        let looked = look(&self.program, std::slice::from_ref(goal), &options, &|_| ())?;
        Ok(looked.found.into_iter().find_map(|found| match found {
            Found::Run(witness) => Some(witness),
            _ => None,
        }))
    }

    /// The violation that a run shows.
    fn violation(&self, goal: &Goal, witness: &Witness) -> Violation {
        Violation {
            property: goal.name.clone(),
            cause: Cause::Always,
            run: self.saved_run(&witness.run, &witness.inputs),
            reads: vec![self.reads(goal, &self.last_state(&witness.run), &witness.inputs)],
        }
    }
}

impl Checkable for Model {
    fn check_with(&self, options: &allways::Options) -> Result<Outcome, Error> {
        let depth = options.max_depth.map_or(Options::default().depth, |depth| depth as usize);
        let options = Options {
            depth,
            time: options.max_time,
            stop: options.stop.iter().cloned().collect(),
            ..Options::default()
        };
        self.check(&options, &|_| ()).map(|checked| checked.outcome).map_err(Error::System)
    }

    fn property_names(&self) -> Vec<(String, PropertyKind)> {
        self.goals.iter().map(|goal| (goal.name.clone(), self.kind(goal))).collect()
    }

    fn only(&self, names: &[String]) -> Result<Box<dyn Checkable>, Error> {
        let mut model = self.clone();
        model.keep(names).map_err(Error::System)?;
        Ok(Box::new(model))
    }

    fn replay(&self, saved: &SavedRun) -> Result<Replayed, Error> {
        Ok(self.replayed(&saved.violation))
    }

    fn story(&self, run: &Run) -> Result<Story, Error> {
        let run = self.read_run(run).map_err(|(_, why, _)| Error::Run(why))?;
        Ok(self.told(&run, None, &[]))
    }

    fn violation_story(&self, violation: &Violation) -> Result<Story, Error> {
        let run = self.read_run(&violation.run).map_err(|(_, why, _)| Error::Run(why))?;
        let goal = self.goal(&violation.property);
        let inputs = goal.map_or_else(Vec::new, |goal| self.saved_inputs(goal, &violation.run));
        Ok(self.told(&run, goal, &inputs))
    }

    fn minimise(
        &self,
        violation: &Violation,
        options: &MinimiseOptions,
    ) -> Result<(Violation, Minimised), Error> {
        let run = self.read_run(&violation.run).map_err(|(_, why, _)| Error::Run(why))?;
        let goal = self.goal(&violation.property).ok_or_else(|| {
            Error::Run(format!("there is no property `{}` any more", violation.property))
        })?;
        let witness = self
            .met(goal, &run, &self.saved_inputs(goal, &violation.run))
            .filter(|_| self.claim(goal) != Claim::Reachable)
            .ok_or_else(|| Error::Run("the run no longer violates".to_owned()))?;
        let kept = self.needed(goal, &witness);
        let mut smaller = Witness { run: run.only(&kept), inputs: witness.inputs };
        if let Some(shorter) = self.shorter(goal, &smaller, options).map_err(Error::System)? {
            smaller = shorter;
        }
        let smaller = self.violation(goal, &smaller);
        let sizes = (RunSize::of(&violation.run), RunSize::of(&smaller.run));
        Ok((smaller, Minimised::new(sizes.0, sizes.1)))
    }
}
