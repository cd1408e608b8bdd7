import { isAppError, Sensitive } from '@davit/base';
import { DriverError, type RegistryCredentials } from '@davit/drivers';
import type { ImageReleaseSource } from '../model.ts';
import * as store from '../store/journal.ts';
import { configOf, driverSet, type Step, type StepContext } from './step.ts';

/** Brings the image of a release that is not built. What its tag meant then is what the release runs from then on. */
export const pull: Step = {
  name: 'pull',
  deadlineSeconds: 1_800,
  cancelable: true,
  async run(context) {
    const { task, call, journal } = context;
    const { source } = configOf(task);
    if (source.type !== 'IMAGE') throw new Error(`${task.name} has no image to pull`);
    const reference = `${source.image}:${source.tag}`;
    call.log(`Pulling ${reference}.`);
    const image = await driverSet(context).builder.pull({ reference, credentials: await credentialsOf(context, source) }, call);
    const name = image.digest === null ? reference : `${source.image}@${image.digest}`;
    task.imageId = image.id;
    await journal.writeAny(store.completeRelease, [task.releaseId, null, name, image.id]);
    call.log(`${reference} is ${name}.`);
    return { imageId: image.id };
  },
  resume(task, output) {
    task.imageId = output.imageId ?? null;
  },
};

async function credentialsOf(context: StepContext, { registryId }: ImageReleaseSource): Promise<RegistryCredentials | null> {
  if (registryId === null) return null;
  const found = await context.parts.hooks.registryCredentials(registryId).catch((error: unknown) => {
    if (!isAppError(error) || error.code !== 'NOT_SUPPORTED') throw error;
    throw new DriverError({ cause: 'REGISTRY_ACCESS_DENIED', message: error.message, error });
  });
  if (found === undefined) {
    throw new DriverError({
      cause: 'REGISTRY_ACCESS_DENIED',
      message: `the container registry of ${context.task.name} no longer exists`,
      hint: 'Set registry_id to an existing container registry, and deploy again.',
    });
  }
  return found === null ? null : { username: found.username, password: new Sensitive(found.password) };
}
