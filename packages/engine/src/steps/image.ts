import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuiltImage } from '@davit/drivers';
import type { BuildCommit } from '../model.ts';
import { imageKey } from '../image-key.ts';
import { builderOf } from '../shared/parts.ts';
import * as store from '../store/journal.ts';
import { plainValues } from '../workload/workload.ts';
import { configOf, gitSourceOf, type StepContext, type StepOutput } from './step.ts';

/** The output of a step that provides the image, or the commit that the image is built from. */
export interface ImageOutput extends StepOutput {
  readonly commit?: BuildCommit;
  readonly imageId?: string;
}

/**
 * Returns the name `davit/<service>:<key>`. The same commit, settings and build arguments yield the same name and are
 * built once.
 */
export function imageName(context: StepContext, commit: BuildCommit): string {
  const source = gitSourceOf(context.task);
  const key = imageKey({
    commit: commit.id,
    repositoryUrl: source.url,
    rootPath: source.rootPath,
    dockerfilePath: source.dockerfilePath,
    targetStage: source.targetStage,
    ...(source.dockerfile !== undefined && { dockerfile: source.dockerfile }),
    arguments: buildArguments(context, commit.declaredArguments ?? []),
  });
  return `davit/${context.task.serviceId}:${key}`;
}

export function buildArguments(context: StepContext, declared: readonly string[]): Record<string, string> {
  const plain = plainValues(configOf(context.task));
  return Object.fromEntries(Object.entries(plain).filter(([name]) => declared.includes(name)));
}

export async function recordImage(context: StepContext, commit: BuildCommit, name: string, image: BuiltImage): Promise<void> {
  const { task, journal } = context;
  task.commit = commit;
  task.imageId = image.id;
  await journal.writeAny(store.completeRelease, [task.releaseId, JSON.stringify(commit), name, image.id]);
}

/** Returns the image of that commit if the engine already has it. */
export function findImage(context: StepContext, name: string): Promise<BuiltImage | null> {
  return builderOf(context.parts, context.task.driver).find(name, context.call.signal);
}

export function checkoutFolder(context: StepContext): string {
  return join(context.parts.settings.workFolder, context.deployment.id, context.task.serviceId);
}

export async function removeCheckout(context: StepContext): Promise<void> {
  await rm(checkoutFolder(context), { recursive: true, force: true });
}
