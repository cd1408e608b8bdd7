import { allEnded } from '@davit/base';
import * as store from '../store/journal.ts';
import type { BuildCommit } from '../model.ts';
import { builderOf } from '../shared/parts.ts';
import { checkoutFolder, findImage, imageName, recordImage, removeCheckout, type ImageOutput } from './image.ts';
import { sourceOf } from './source.ts';
import { configOf, driverSet, type Step, type StepContext } from './step.ts';
import { assertSuits } from './suits.ts';

/** Resolves the commit, and finds out whether its image already exists. */
export const resolve: Step<ImageOutput> = {
  name: 'resolve',
  metric: 'GIT_CLONE',
  deadlineSeconds: 1_800,
  cancelable: true,
  isLookup: true,
  async run(context) {
    const { task, parts, call } = context;
    // Fails early if there is no builder, before anything is fetched.
    builderOf(parts, task.driver);
    await assertSuits(context);
    const id = task.commit?.id ?? (await resolveBranch(context));
    const source = JSON.stringify(configOf(task).source);
    const known = await parts.database.maybe(store.knownCommit, [task.serviceId, id, source]);
    const commit: BuildCommit = known?.commit ?? { id };
    task.commit = commit;
    if (known !== undefined) {
      const name = imageName(context, commit);
      const image = await findImage(context, name);
      if (image !== null) {
        await allEnded([recordImage(context, commit, name, image), removeCheckout(context)]);
        call.log(`Commit ${short(id)} was built before with the same settings: its image is reused.`);
        return { commit, imageId: image.id, skip: ['checkout', 'build'] };
      }
    }
    call.log(`Commit ${short(id)} will be built.`);
    return { commit };
  },
  resume(task, output) {
    task.commit = output.commit ?? null;
    if (output.imageId !== undefined) task.imageId = output.imageId;
  },
};

/**
 * Returns the newest commit of the branch. If the configuration is what runs already, the commit is probably new, and
 * is fetched on the way to the folder of the checkout. Otherwise the configuration is probably what is new, and the
 * reference alone is asked for, which is quicker.
 */
async function resolveBranch(context: StepContext): Promise<string> {
  const { task, call } = context;
  const isConfigurationKnown = task.former !== null && task.former.config_hash === task.configHash;
  const directory = isConfigurationKnown ? checkoutFolder(context) : undefined;
  return driverSet(context).source.resolve(await sourceOf(context), call, directory);
}

function short(commit: string): string {
  return commit.slice(0, 12);
}
