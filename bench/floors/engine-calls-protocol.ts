/** One application, as raw calls deploy it. */
export interface Deployment {
  /** Names image, folder and alias. */
  readonly name: string;
  readonly url: string;
  /** What the instance is to answer: tells it from the one before. */
  readonly generation: string;
  readonly network: string;
  readonly port: number;
  readonly memoryMiB: number;
  readonly cpuMillicores: number;
  /** `none`: the image of that name is there, nothing is cloned and built. */
  readonly builder: 'buildkit' | 'classic' | 'none';
}

export type EngineCallsRequest =
  | { readonly what: 'network'; readonly name: string }
  | { readonly what: 'deploy'; readonly deployments: readonly Deployment[] }
  | { readonly what: 'remove'; readonly containers: readonly string[] };

export interface EngineCallsAnswer {
  readonly milliseconds: number;
  readonly phases: Readonly<Record<'build' | 'create' | 'start' | 'answer', number>>;
  readonly container: string;
}

/** Of deployments that began at the same moment: until the last one has answered. */
export interface DeployAnswer {
  readonly milliseconds: number;
  readonly deployments: readonly EngineCallsAnswer[];
}
