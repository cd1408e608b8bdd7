/** An application that is deployed with raw engine calls. */
export interface Deployment {
  /** The name of the image, the folder and the alias. */
  readonly name: string;
  readonly url: string;
  /** The text that the instance returns. It distinguishes the instance from the previous one. */
  readonly generation: string;
  readonly network: string;
  readonly port: number;
  readonly memoryMiB: number;
  readonly cpuMillicores: number;
  /** `none`: the image already exists, so nothing is cloned or built. */
  readonly builder: 'buildkit' | 'classic' | 'none';
}

export type EngineCallsRequest =
  | { readonly what: 'network'; readonly name: string }
  | { readonly what: 'deploy'; readonly deployments: readonly Deployment[] }
  | { readonly what: 'remove'; readonly containers: readonly string[] };

export interface EngineCallsAnswer {
  readonly milliseconds: number;
  readonly phases: Readonly<Record<'clone' | 'build' | 'create' | 'start' | 'answer', number>>;
  readonly container: string;
}

/**
 * The result of deployments that began at the same moment. `milliseconds` is the time until the last of them responded.
 */
export interface DeployAnswer {
  readonly milliseconds: number;
  readonly deployments: readonly EngineCallsAnswer[];
}
