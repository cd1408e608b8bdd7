import { once } from 'node:events';
import type { Place } from '../place.ts';
import type { DeployAnswer, Deployment, EngineCallsRequest } from './engine-calls-protocol.ts';
import { startFloor, type Floor } from './start.ts';

/** The separate program for raw engine calls, with the requests that it accepts. */
export class RawEngine {
  readonly #floor: Floor;

  private constructor(floor: Floor) {
    this.#floor = floor;
  }

  static async start(location: Place): Promise<RawEngine> {
    const { address } = await location.engine();
    const floor = await startFloor('engine-calls', [address.replace('unix://', ''), location.newFolder('checkouts')]);
    location.onEnd(() => floor.stop());
    return new RawEngine(floor);
  }

  async makeNetwork(name: string): Promise<void> {
    await this.#ask({ what: 'network', name });
  }

  /**
   * Deploys all applications concurrently. Their containers are removed afterwards; the removal is not part of the
   * measured time.
   */
  async deploy(deployments: readonly Deployment[]): Promise<DeployAnswer> {
    const answer = (await this.#ask({ what: 'deploy', deployments })) as DeployAnswer; // oxlint-disable-line typescript/no-unsafe-type-assertion -- our own program's words
    await this.#ask({ what: 'remove', containers: answer.deployments.map(({ container }) => container) });
    return answer;
  }

  async #ask(message: EngineCallsRequest): Promise<unknown> {
    const answered = once(this.#floor.child, 'message') as Promise<[{ result?: unknown; error?: string }]>; // oxlint-disable-line typescript/no-unsafe-type-assertion -- our own program's words
    this.#floor.child.send(message);
    const [{ result, error }] = await answered;
    if (error !== undefined) throw new Error(error);
    return result;
  }
}
