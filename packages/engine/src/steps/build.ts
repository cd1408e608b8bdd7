import { allEnded } from '@davit/base';
import { stat } from 'node:fs/promises';
import { fetchSource } from './checkout.ts';
import { assertSpace } from '../housekeeping/images.ts';
import { buildArguments, checkoutFolder, findImage, imageName, recordImage, removeCheckout, type ImageOutput } from './image.ts';
import type { BuildCommit } from '../model.ts';
import { builderOf, driversOf } from '../shared/parts.ts';
import { secretNames } from '../workload/workload.ts';
import { configOf, gitSourceOf, ownerOf, type Step, type StepContext } from './step.ts';

/** Builds the image, unless an image of the same name exists by now. */
export const build: Step<ImageOutput> = {
  name: 'build',
  metric: 'BUILD',
  deadlineSeconds: ({ task }) => configOf(task).options?.build?.timeoutSeconds ?? 3_600,
  cancelable: true,
  async run(context) {
    const { call } = context;
    const commit = await ensureSource(context);
    const name = imageName(context, commit);
    const existing = await findImage(context, name);
    const { parts, task } = context;
    const buildsOn = driversOf(parts, task.driver).buildsOn ?? task.driver;
    if (existing === null) await assertSpace(parts, buildsOn, call);
    const image = existing ?? (await buildImage(context, name, commit));
    await allEnded([recordImage(context, commit, name, image), removeCheckout(context)]);
    call.log(existing === null ? `Built ${name}.` : `The image ${name} already exists; nothing was built.`);
    return { imageId: image.id, commit };
  },
  resume(task, output) {
    task.imageId = output.imageId ?? null;
    task.commit = output.commit ?? null;
  },
};

async function ensureSource(context: StepContext): Promise<BuildCommit> {
  const there = await stat(checkoutFolder(context)).catch(() => null);
  const { commit } = context.task;
  return there === null || commit === null ? fetchSource(context) : commit;
}

function buildImage(context: StepContext, image: string, commit: BuildCommit) {
  const { settings } = context.parts;
  const limits = driversOf(context.parts, context.task.driver).buildLimits ?? {
    cpuMillicores: settings.buildCpuMillicores,
    memoryMiB: settings.buildMemoryMiB,
  };
  const config = configOf(context.task);
  const source = gitSourceOf(context.task);
  const { cpuMillicores, memoryMiB, timeoutSeconds, withoutCache } = config.options?.build ?? {};
  return builderOf(context.parts, context.task.driver).build(
    {
      owner: ownerOf(context),
      image,
      directory: checkoutFolder(context),
      rootPath: source.rootPath,
      dockerfilePath: source.dockerfilePath,
      ...(commit.createdAt !== undefined && { committedAt: commit.createdAt }),
      targetStage: source.targetStage,
      arguments: buildArguments(context, commit.declaredArguments ?? []),
      secretNames: secretNames(config),
      cpuMillicores: Math.min(cpuMillicores ?? Infinity, limits.cpuMillicores),
      memoryMiB: Math.min(memoryMiB ?? Infinity, limits.memoryMiB),
      ...(withoutCache === true && { withoutCache }),
      ...(timeoutSeconds !== undefined && { timeoutSeconds }),
    },
    context.call,
  );
}
