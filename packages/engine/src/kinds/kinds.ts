import type { Action, ReleaseConfig } from '../model.ts';
import type { PlanInput, StepName, Steps } from '../plan/plan.ts';
import type { EngineParts } from '../shared/parts.ts';
import type { Step } from '../steps/step.ts';
import type { Kind } from './kind.ts';
import type { KnownKinds } from './traits.ts';

/** The kinds of services of an engine. */
export class Kinds implements KnownKinds {
  readonly all: readonly Kind[];
  readonly #first: Kind;
  readonly #byServiceType: ReadonlyMap<string, Kind>;
  readonly #steps = new Map<StepName, Step>();

  /**
   * Fails if two different steps have the same name, because the journal stores the names. The first kind is that of
   * services about which nothing is known.
   */
  constructor(kinds: readonly [Kind, ...Kind[]]) {
    this.all = kinds;
    [this.#first] = kinds;
    this.#byServiceType = new Map(kinds.flatMap((kind) => kind.serviceTypes.map((type) => [type, kind])));
    for (const step of kinds.flatMap((kind) => Object.values(kind.steps))) {
      const known = this.#steps.get(step.name);
      if (known !== undefined && known !== step) throw new Error(`there are two steps ${step.name}`);
      this.#steps.set(step.name, step);
    }
  }

  /** Returns the kind of a release. */
  of(config: Pick<ReleaseConfig, 'source' | 'job'> | null): Kind {
    return (config === null ? undefined : this.all.find((kind) => kind.owns(config))) ?? this.#first;
  }

  /** Returns the kind of a service from its type, as the API has it, and the configuration to run. */
  ofService(serviceType: string | null | undefined, config: Pick<ReleaseConfig, 'source' | 'job'> | null = null): Kind {
    return this.#byServiceType.get(serviceType ?? '') ?? this.of(config);
  }

  /** Returns the steps of an action on a service. */
  plan(action: Action, input: PlanInput): Steps {
    return this.ofService(input.serviceType, input.config).plan(action, input);
  }

  /** Returns a step by its name. Fails if no kind has it. */
  step(name: StepName): Step {
    const step = this.#steps.get(name);
    if (step === undefined) throw new Error(`no kind has the step ${name}`);
    return step;
  }

  /** Returns the names of all steps. */
  get stepNames(): readonly StepName[] {
    return [...this.#steps.keys()];
  }
}

/** The parts of the engine for its runner and keeper, which execute kinds. */
export interface ExecutingParts extends EngineParts {
  readonly kinds: Kinds;
}
