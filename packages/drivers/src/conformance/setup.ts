import { randomUUID } from 'node:crypto';
import type { describe, expect, it } from 'vitest';
import type { CallContext, ClusterDriver } from '../driver.ts';
import { testWorkload } from '../testing/workload.ts';
import type { Probe, Selector, Workload } from '../workload.ts';

/**
 * Behavior of a program of the suite. Each program first prints `hello` on stdout and `careful` on stderr, and exits on
 * SIGTERM.
 * - SERVES: answers HTTP on port 8080: 200 for `/`, 404 for `/missing`.
 * - SERVES_ELSEWHERE: does the same on port 9090.
 * - EXITS: exits at once with code 3.
 */
export type Behaviour = 'SERVES' | 'SERVES_ELSEWHERE' | 'EXITS';

export interface ConformanceSubject {
  /** Creates a driver for an installation; called several times for the same cluster. */
  driver(installation: string): Promise<ClusterDriver>;
  /** Returns how this cluster runs such a program. */
  program(behaviour: Behaviour): Pick<Workload, 'image' | 'entrypoint' | 'arguments'>;
  /** Differences from a container engine. */
  readonly traits?: ClusterTraits;
}

/** Differences between clusters. Absent traits are as on a container engine. */
export interface ClusterTraits {
  /** The cluster acts on liveness probes itself: `probe` returns null for them. */
  readonly restartsOnFailedLiveness?: true;
  /** Its logs do not distinguish stderr from stdout. */
  readonly mergesStreams?: true;
  /** Set if the cluster pulls images itself: the reference of an image that its registry does not have. */
  readonly absentImage?: string;
  /** Returns whether the cluster has a metrics source; the capability `metrics` does not show that. */
  readonly measures?: (signal: AbortSignal) => Promise<boolean>;
}

/** Vitest, passed in so that this folder can be part of the package and not of a test. */
export interface Suite {
  readonly describe: typeof describe;
  readonly it: typeof it;
  readonly expect: typeof expect;
}

/** An installation of its own on the cluster, with what its tests need. */
export class ConformanceSetup {
  readonly installation: string;
  readonly environment: string = randomUUID();
  readonly logged: string[] = [];
  readonly driver: ClusterDriver;
  readonly #subject: ConformanceSubject;
  readonly #environments: Set<string>;

  private constructor(subject: ConformanceSubject, driver: ClusterDriver, installation: string) {
    this.#subject = subject;
    this.driver = driver;
    this.installation = installation;
    this.#environments = new Set([this.environment]);
  }

  static async open(subject: ConformanceSubject): Promise<ConformanceSetup> {
    const installation = `conformance-${randomUUID()}`;
    return new ConformanceSetup(subject, await subject.driver(installation), installation);
  }

  get traits(): ClusterTraits {
    return this.#subject.traits ?? {};
  }

  context(signal: AbortSignal = never()): CallContext {
    return { signal, log: (line) => this.logged.push(line) };
  }

  workload(behaviour: Behaviour, changes: Partial<Workload> & { environmentId?: string } = {}): Workload {
    const { environmentId = this.environment, ...rest } = changes;
    this.#environments.add(environmentId);
    const { installation } = this;
    return testWorkload({
      owner: {
        installation,
        organization: 'organization',
        project: 'project',
        environment: environmentId,
        service: randomUUID(),
      },
      name: 'Conformance',
      ...this.#subject.program(behaviour),
      // Little enough for a small node.
      cpuMillicores: 200,
      ...rest,
    });
  }

  async run(workload: Workload): Promise<readonly string[]> {
    await this.driver.start(workload, this.context());
    return (await this.driver.awaitReady(workload, this.context())).map(({ id }) => id);
  }

  async ids(selector: Selector): Promise<string[]> {
    return (await this.driver.observe(selector, never())).map(({ id }) => id);
  }

  async close(): Promise<void> {
    for (const environment of this.#environments) await this.driver.removeEnvironment(environment, this.context());
  }
}

/** Returns a signal that never aborts. */
export function never(): AbortSignal {
  return new AbortController().signal;
}

/** Probes port 8080 every second. */
export const httpProbe = (path: string): Probe => ({
  check: { type: 'http', port: 8080, path, scheme: 'HTTP' },
  initialDelaySeconds: 0,
  periodSeconds: 1,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
});

/** Declares a test with its own installation. */
export type Test = (name: string, body: (setup: ConformanceSetup) => Promise<void>) => void;

/** Waits for a condition, bounded by the timeout of the test. */
export async function until(condition: () => boolean | Promise<boolean>, milliseconds = 20_000): Promise<void> {
  const deadline = Date.now() + milliseconds;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`the condition did not come true within ${milliseconds / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
