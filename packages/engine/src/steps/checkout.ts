import { realpath, rm, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { DriverError } from '@davit/drivers';
import type { BuildCommit } from '../model.ts';
import { checkoutFolder } from './image.ts';
import { sourceOf } from './source.ts';
import { builderOf } from '../shared/parts.ts';
import { driverSet, gitSourceOf, type Step, type StepContext } from './step.ts';

/** Fetches the tree of the commit. */
export const checkout: Step = {
  name: 'checkout',
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

/** Also called by the build, when the folder is gone because the process that had fetched it died with its machine. */
export async function fetchSource(context: StepContext): Promise<BuildCommit> {
  const { task, call } = context;
  if (task.commit === null) throw new Error(`${task.name} has no commit to fetch`);
  const folder = checkoutFolder(context);
  const source = { ...(await sourceOf(context)), commit: task.commit.id };
  const fetched = await onDisk(() => driverSet(context).source.checkout(source, folder, call));
  const { rootPath, dockerfilePath, dockerfile } = gitSourceOf(task);
  if (dockerfile !== undefined) await onDisk(() => placeDockerfile(folder, { rootPath, dockerfilePath, dockerfile }));
  const builder = builderOf(context.parts, context.task.driver);
  const declaredArguments = await builder.declaredArguments({ directory: folder, rootPath, dockerfilePath });
  const commit: BuildCommit = { ...fetched, declaredArguments };
  task.commit = commit;
  call.log(`Fetched commit ${commit.id.slice(0, 12)}: ${commit.message?.split('\n', 1)[0] ?? ''}`);
  return commit;
}

interface PlacedDockerfile {
  readonly rootPath: string;
  readonly dockerfilePath: string;
  readonly dockerfile: string;
}

/** Puts a Dockerfile that the repository does not have where the build looks for it. Never outside of the checked-out folder. */
async function placeDockerfile(folder: string, { rootPath, dockerfilePath, dockerfile }: PlacedDockerfile): Promise<void> {
  const [checkedOut, root] = await Promise.all([realpath(folder), realpath(join(folder, rootPath)).catch(() => null)]);
  // A root that is not there, or a link that leads away: the build refuses it in its own words.
  if (root === null || !(root === checkedOut || root.startsWith(`${checkedOut}${sep}`))) return;
  const path = join(root, dockerfilePath);
  // A link of that name in the repository must not be written through.
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
