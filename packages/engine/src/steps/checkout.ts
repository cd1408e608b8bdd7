import { realpath, rm, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { DriverError } from '@davit/drivers';
import type { BuildCommit } from '../model.ts';
import { checkoutFolder, type ImageOutput } from './image.ts';
import { sourceOf } from './source.ts';
import { builderOf } from '../shared/parts.ts';
import { driverSet, gitSourceOf, type Step, type StepContext } from './step.ts';

/** Fetches the tree of the commit. */
export const checkout: Step<ImageOutput> = {
  name: 'checkout',
  metric: 'GIT_CLONE',
  deadlineSeconds: 1_800,
  cancelable: true,
  async run(context) {
    const commit = await fetchSource(context);
    return { commit };
  },
  resume(task, output) {
    task.commit = output.commit ?? null;
  },
};

/**
 * Fetches the source. The build also calls this if the folder is missing because the process that had fetched it died
 * with its machine.
 */
export async function fetchSource(context: StepContext): Promise<BuildCommit> {
  const { task, call } = context;
  if (task.commit === null) throw new Error(`${task.name} has no commit to fetch`);
  const folder = checkoutFolder(context);
  const source = { ...(await sourceOf(context)), commit: task.commit.id };
  const fetched = await onDisk(() => driverSet(context).source.checkout(source, folder, call));
  const { rootPath, dockerfilePath, dockerfile } = gitSourceOf(task);
  if (dockerfile !== undefined) await onDisk(() => writeDockerfile(folder, { rootPath, dockerfilePath, dockerfile }));
  const builder = builderOf(context.parts, context.task.driver);
  const declaredArguments = await builder.declaredArguments({ directory: folder, rootPath, dockerfilePath });
  const commit: BuildCommit = { ...fetched, declaredArguments };
  task.commit = commit;
  call.log(`Fetched commit ${commit.id.slice(0, 12)}: ${commit.message?.split('\n', 1)[0] ?? ''}`);
  return commit;
}

interface CheckedOutDockerfile {
  readonly rootPath: string;
  readonly dockerfilePath: string;
  readonly dockerfile: string;
}

/**
 * Writes a Dockerfile that the repository does not have to the path where the build looks for it. Never writes outside
 * of the checked-out folder.
 */
async function writeDockerfile(folder: string, { rootPath, dockerfilePath, dockerfile }: CheckedOutDockerfile): Promise<void> {
  const [checkedOut, root] = await Promise.all([realpath(folder), realpath(join(folder, rootPath)).catch(() => null)]);
  // The root is missing, or a link leads outside of the folder. The build refuses it with its own message.
  if (root === null || !(root === checkedOut || root.startsWith(`${checkedOut}${sep}`))) return;
  const path = join(root, dockerfilePath);
  // The file must not be written through a link of that name in the repository.
  await rm(path, { recursive: true, force: true });
  await writeFile(path, dockerfile, { flag: 'wx' });
}

async function onDisk<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) {
      throw new DriverError({
        cause: 'DISK_FULL',
        message: 'the disk of the state folder is full: the repository could not be fetched',
        error,
      });
    }
    throw error;
  }
}
