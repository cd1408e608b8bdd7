import type { KeepTools, Look } from '../keeper/keep-tools.ts';
import type { KeptService } from '../keeper/kept-service.ts';
import type { ClusterSnapshot } from '../keeper/observer.ts';
import type { Action } from '../model.ts';
import type { StepName, Steps, StepsInput } from '../plan/plan.ts';
import type { Step } from '../steps/step.ts';
import type { KindTraits } from './traits.ts';

/**
 * The behaviour of the engine that differs between kinds of services. The engine asks the kind, and inspects neither
 * types of services nor sources itself. A new kind is a folder beside this file and an entry in `index.ts`.
 *
 * Runner and keeper execute what is declared here; everything else of the engine knows the traits only.
 */
export interface Kind<Name extends StepName = StepName> extends KindTraits {
  /** The steps of this kind's deployments, by name. Kinds may share a step. */
  readonly steps: Readonly<Record<Name, Step>>;
  /** Returns the steps of an action. Pure. */
  plan(action: Action, input: StepsInput): Steps<Name>;

  /**
   * Makes one service on one cluster as it should be. The keeper calls this at each look, unless a deployment of the
   * environment is running. A rejection ends the look; `tools.attempts` does not.
   */
  keep(runtime: KeptService, look: Look, tools: KeepTools): Promise<void>;
  /**
   * Ends what earlier deployments of this kind left on a cluster, before each look. Returns what was seen without the
   * instances of that work, so that nothing else retires them. Omitted: nothing is left that `keep` does not find.
   */
  keepRemains?(seen: ClusterSnapshot, tools: KeepTools): Promise<ClusterSnapshot>;
}
