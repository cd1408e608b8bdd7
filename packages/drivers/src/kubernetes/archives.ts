import path from 'node:path';
import { PassThrough, pipeline, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Container, Pod } from 'kubernetes-types/core/v1.js';
import { extract } from 'tar-stream';
import { DriverError, FolderNotHeldError } from '../errors.ts';
import { execute, type Execution, type ContainerRef } from './client/exec.ts';
import type { Scope } from './client/objects.ts';
import { newestPod } from './client/pods.ts';
import { translated } from './client/refusals.ts';
import { isOver, statusOf } from './diagnosis/instance-facts.ts';
import { lastEnd, mainStatus, parseId } from './instances/instances.ts';
import { helperContainer, mainContainer } from './manifests/pod.ts';

/*
 * Files are transferred with the `tar` of an image, because there is no other way into a container. The workload's own
 * `tar` is used while its process runs, the helper's for the folders of a run that has ended.
 */

/**
 * `tar` itself reported the failure, or there is no container left to run it in. A temporary refusal is not such a
 * failure.
 */
class NothingThere extends DriverError {}

/**
 * Exit codes of GNU tar and busybox tar for files that they do not find. Other codes come from a shell, a runtime or a
 * signal, and say nothing about the file.
 */
const isOfTar = (code: number): boolean => code <= 2;
/** Higher exit codes are signals: the container ended during the command, or had no memory left. */
const lastOwnCode = 128;

/** See `ClusterDriver.takeOut`. Needs `tar` in the image. */
export async function download(scope: Scope, instanceId: string, file: string, signal: AbortSignal): Promise<Readable> {
  try {
    const container = await refOf(scope, instanceId, file, signal);
    const folder = path.posix.dirname(file);
    const command = ['tar', '-C', folder, '-cf', '-', '--', path.posix.basename(file) || '.'];
    const { output, end } = await execute(scope.api, container, { command }, signal);
    const out = new PassThrough();
    // If there is nothing to read, tar prints a message, and perhaps an empty archive.
    const first = await firstOf(output, end);
    if (first === null) {
      const { code, errors } = await end;
      const message = `${file} of the instance could not be read: ${errors.trim()}`;
      if (isOfTar(code)) throw new NothingThere({ cause: 'ENGINE_FAILED', message });
      throw new DriverError({ cause: 'ENGINE_FAILED', message, retryable: code > lastOwnCode });
    }
    void breakWhenCut(out, end, file);
    out.once('close', () => output.destroy());
    output.unshift(first);
    output.pipe(out);
    return out;
  } catch (error) {
    signal.throwIfAborted();
    throw translated(error, `${file} of the instance could not be read`);
  }
}

/** Breaks the output if tar failed: an incomplete archive must not look like a complete one. */
async function breakWhenCut(out: PassThrough, end: Execution['end'], file: string): Promise<void> {
  try {
    const { code, errors } = await end;
    // Code 1: a file changed while it was read. The archive is valid.
    if (code <= 1) return;
    const message = `${file} could not be read: ${errors.trim()}`;
    out.destroy(new DriverError({ cause: 'ENGINE_FAILED', message, retryable: code > lastOwnCode }));
  } catch (error) {
    out.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}

/** Returns the beginning of an archive, or null if the archive is empty. */
async function firstOf(output: Readable, end: Promise<unknown>): Promise<Buffer | null> {
  for (;;) {
    const chunk: unknown = output.read();
    if (Buffer.isBuffer(chunk)) {
      if (chunk.some((byte) => byte !== 0)) return chunk;
      continue;
    }
    if (output.readableEnded || output.destroyed) return null;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    for (const event of ['readable', 'end', 'close']) output.once(event, wake);
    end.catch(wake);
    await promise;
    for (const event of ['readable', 'end', 'close']) output.off(event, wake);
  }
}

/**
 * See `ClusterDriver.readFile`. Also returns null if the file cannot be reached any more: the process has exited, and
 * no helper holds the file. A node that refuses the command at the moment is a failure: a caller that took it for a
 * missing file would start the same work again.
 */
export async function readFile(
  scope: Scope,
  instanceId: string,
  { path: file, maxBytes }: { readonly path: string; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const archive = await download(scope, instanceId, file, signal);
    try {
      // The reader gets the error if the archive breaks.
      const entries = pipeline(archive, extract(), () => undefined);
      for await (const entry of entries) {
        const { type, size } = entry.header;
        return type === 'file' && size <= maxBytes ? await text(entry) : null;
      }
      return null;
    } finally {
      archive.destroy();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof NothingThere || (await isGone(scope, instanceId, file, signal))) return null;
    throw error;
  }
}

/** Returns whether no container is left that reaches a file. The container may have ended during a command. */
async function isGone(scope: Scope, instanceId: string, file: string, signal: AbortSignal): Promise<boolean> {
  try {
    await refOf(scope, instanceId, file, signal);
    return false;
  } catch (error) {
    signal.throwIfAborted();
    // The original error says more than the failure to ask the cluster.
    return error instanceof NothingThere;
  }
}

/** See `ClusterDriver.putInto`. Needs `tar` in the image. */
export async function upload(
  scope: Scope,
  instanceId: string,
  { folder, archive }: { readonly folder: string; readonly archive: Readable },
  signal: AbortSignal,
): Promise<void> {
  const broken = new AbortController();
  archive.once('error', (error) => broken.abort(error));
  const both = AbortSignal.any([signal, broken.signal]);
  try {
    const container = await refOf(scope, instanceId, folder, both);
    const { output, end } = await execute(
      scope.api,
      container,
      { command: ['tar', '-C', folder, '-xf', '-'], input: archive },
      both,
    );
    output.resume();
    const { code, errors } = await end;
    if (code === 0) return;
    const isFull = /no space left|quota exceeded/i.test(errors);
    throw new DriverError({
      cause: isFull ? 'DISK_FULL' : 'ENGINE_FAILED',
      message: `${folder} of the instance could not be written: ${errors.trim()}`,
      evidence: { original: errors },
      retryable: code > lastOwnCode,
    });
  } catch (error) {
    both.throwIfAborted();
    throw translated(error, `${folder} of the instance could not be written`);
  } finally {
    archive.destroy();
  }
}

/** Returns the container through which a path of an instance is reached. */
async function refOf(scope: Scope, instanceId: string, file: string, signal: AbortSignal): Promise<ContainerRef> {
  const { namespace, name } = parseId(instanceId);
  const pod = await newestPod(scope, { namespace, name }, signal);
  const waiting = pod === null ? null : heldUpHelper(pod, file, name);
  if (waiting !== null) throw waiting;
  const container = pod === null ? null : containerOf(pod, file);
  if (pod === null || container === null) {
    const why = pod === null ? 'it is no longer on the cluster' : 'no container that has it is running';
    throw new NothingThere({ cause: 'ENGINE_FAILED', message: `${file} of the instance ${name} cannot be reached: ${why}.` });
  }
  return { namespace, pod: pod.metadata?.name ?? '', container };
}

/** Returns the name of the running container that reaches a file, or null. Pure. */
export function containerOf(pod: Pod, file: string): string | null {
  if (holderOf(pod, file) !== undefined)
    return statusOf(pod, helperContainer)?.state?.running === undefined ? null : helperContainer;
  return mainStatus(pod)?.state?.running === undefined ? null : mainContainer;
}

/** Returns the helper if it holds the path. */
function holderOf({ spec }: Pod, file: string): Container | undefined {
  const helper = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].find(({ name }) => name === helperContainer);
  const holds = helper?.volumeMounts?.some(({ mountPath }) => file === mountPath || file.startsWith(`${mountPath}/`)) === true;
  return holds ? helper : undefined;
}

/**
 * Returns why a path cannot be reached yet, or null. The process may have written to the path while the helper that
 * reaches it still waits.
 */
function heldUpHelper(pod: Pod, file: string, instance: string): DriverError | null {
  const helper = holderOf(pod, file);
  const status = statusOf(pod, helperContainer);
  const waiting = status?.state?.waiting;
  if (helper === undefined || waiting === undefined || isOver(pod)) return null;
  const why = [waiting.reason ?? 'the node gives no reason', ...(waiting.message === undefined ? [] : [waiting.message])].join(
    ': ',
  );
  const message = `${file} of the instance ${instance} cannot be reached yet: its container ${helperContainer} with the image ${helper.image} is waiting (${why}).`;
  if (lastEnd(status) === undefined) return new FolderNotHeldError(message);
  return new DriverError({ cause: 'ENGINE_FAILED', message, retryable: true });
}
