import { assertSpace } from '../housekeeping/images.ts';
import { imageSourceOf } from '../workload/image-source.ts';
import { pinnedName, pullImage, taggedName } from '../workload/registry-image.ts';
import * as store from '../store/journal.ts';
import type { ImageOutput } from './image.ts';
import { configOf, type Step } from './step.ts';
import { assertSuits } from './suits.ts';

/**
 * Pulls the image of a release that is not built. The release keeps the image that its tag referred to at its first
 * pull: later pulls use the digest, whatever the tag refers to by then.
 */
export const pull: Step<ImageOutput> = {
  name: 'pull',
  metric: 'MIRROR_IMAGE',
  deadlineSeconds: 1_800,
  cancelable: true,
  async run(context) {
    const { task, call, journal, parts } = context;
    const source = imageSourceOf(configOf(task));
    if (source === null) throw new Error(`${task.name} has no image to pull`);
    const reference = pinnedName(task.imageName) ?? taggedName(source);
    await assertSuits(context);
    await assertSpace(parts, task.driver, call);
    call.log(`Pulling ${reference}.`);
    const { driver } = task;
    const image = await pullImage(parts, { driver, serviceName: task.name, registryId: source.registryId, reference }, call);
    const name = image.digest === null ? reference : `${source.image}@${image.digest}`;
    task.imageId = image.id;
    task.imageName = name;
    await journal.writeAny(store.completeRelease, [task.releaseId, null, name, image.id]);
    call.log(`${reference} is ${name}.`);
    return { imageId: image.id };
  },
  resume(task, output) {
    task.imageId = output.imageId ?? null;
  },
};
