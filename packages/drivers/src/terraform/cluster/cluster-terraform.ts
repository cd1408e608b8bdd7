import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { CallContext, ClusterDriver } from '../../driver.ts';
import { DriverError } from '../../errors.ts';
import type { LeftState, TerraformDriver, TerraformRun, TerraformSession } from '../../terraform-driver.ts';
import type { Instance, Ownership } from '../../workload.ts';
import { erroredFile, filesMissing } from '../commands.ts';
import { endRun } from './ending.ts';
import { filesOf } from './files.ts';
import { instanceOf, progress, readGiven, type FollowedRun } from './follow.ts';
import { imageOf, toRunWorkload, type TerraformImages } from './pod.ts';
import { ClusterSession } from './session.ts';
import { locations, runFolder } from './supervisor.ts';

export interface ClusterTerraformInput {
  readonly cluster: ClusterDriver;
  /** Address at which pods of the cluster reach the API, such as `http://davit.davit-system.svc:4440`. */
  readonly address: string;
  readonly images: TerraformImages;
}

/**
 * Runs Terraform and OpenTofu on a cluster. A run is a workload that runs once, in the environment of its service, and
 * executes its commands one after the other. A running run is found by its id, so that another process can resume it.
 * Works with any cluster driver.
 */
export class ClusterTerraform implements TerraformDriver {
  readonly #input: ClusterTerraformInput;

  constructor(input: ClusterTerraformInput) {
    this.#input = input;
  }

  /** Returns no versions, without contacting the cluster: the images determine which versions exist. */
  versions(): Promise<readonly never[]> {
    return Promise.resolve([]);
  }

  async open(run: TerraformRun, call: CallContext): Promise<TerraformSession> {
    const attached = await this.#attach(run, call.signal);
    if (attached !== null) return attached;
    const source = join(run.folder, 'source');
    if (!(await isThere(source))) await run.fetch();
    if (!(await isThere(join(source, run.rootPath)))) throw filesMissing(run);
    const image = imageOf(run, this.#input.images);
    const session = new ClusterSession(run, await this.#make(run, image, call), null);
    if (run.version !== null) await session.checkVersion(image, call);
    return session;
  }

  async remove(
    { environment, service }: Pick<Ownership, 'environment' | 'service'>,
    graceSeconds: number,
    call: CallContext,
  ): Promise<void> {
    await this.#input.cluster.retire({ environment, service }, graceSeconds, call);
  }

  async end(
    { environment, service, runs }: Parameters<TerraformDriver['end']>[0],
    graceSeconds: number,
    call: CallContext,
  ): Promise<readonly LeftState[]> {
    const { cluster } = this.#input;
    const all = await cluster.observe({ environment, service }, call.signal);
    const instances = all.filter(({ rollout }) => runs?.includes(rollout) ?? true);
    const left = await Promise.all(
      instances.map((instance) =>
        endRun({ cluster, runId: instance.rollout, service, instanceId: instance.id }, graceSeconds, call),
      ),
    );
    return left.filter((one) => one !== null);
  }

  hasUnstoredState(folder: string, rootPath: string): Promise<boolean> {
    return isThere(join(folder, 'source', rootPath, erroredFile));
  }

  async #make(run: TerraformRun, image: string, call: CallContext): Promise<FollowedRun> {
    const { cluster, address } = this.#input;
    // Called before anything of the run is removed: it fails if another worker has meanwhile taken over the deployment
    // and has a working pod.
    const state = 'admit' in run.backend ? { ...(await run.backend.admit()), address } : null;
    // A pod that was created but got no files has a password that is no longer valid.
    await cluster.retire({ service: run.owner.service, rollout: run.id }, 0, call);
    call.log(`Runs on the cluster with the image ${image}.`);
    await cluster.start(toRunWorkload(run, image, state), call);
    const instance = await this.#find(run, call.signal);
    if (instance === null) throw new DriverError({ cause: 'TERRAFORM_INTERRUPTED', message: 'its pod no longer exists' });
    await cluster.upload(instance.id, { folder: runFolder, archive: filesOf(run) }, call.signal);
    return this.#followedRun(run, instance.id);
  }

  /**
   * Returns a session of the run's existing pod, even if the pod's process has ended; null if there is no pod, or if
   * the pod got no files.
   */
  async #attach(run: TerraformRun, signal: AbortSignal): Promise<ClusterSession | null> {
    const instance = await this.#find(run, signal);
    if (instance === null) return null;
    const ref = this.#followedRun(run, instance.id);
    const { begun } = await progress(ref, signal);
    if (begun.size > 0) return new ClusterSession(run, ref, begun);
    const file = { path: `${runFolder}/${locations.ready}`, maxBytes: 1 };
    const isReady = (await readGiven(ref, file, signal)) !== null;
    // Nothing can be read from a lost pod: the next command reports that.
    return isReady || instance.state === 'EXITED' ? new ClusterSession(run, ref, begun) : null;
  }

  #find(run: TerraformRun, signal: AbortSignal): Promise<Instance | null> {
    return instanceOf(this.#followedRun(run, ''), signal);
  }

  #followedRun({ id, owner, limits }: TerraformRun, instanceId: string): FollowedRun {
    const { cluster } = this.#input;
    return { cluster, runId: id, service: owner.service, instanceId, memoryMiB: limits.memoryMiB };
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
