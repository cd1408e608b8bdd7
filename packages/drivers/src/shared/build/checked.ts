import { DriverError } from '../../errors.ts';
import type { BuildRequest, BuildSource } from '../../image-builder.ts';
import { openContext, type BuildContext } from './context.ts';
import { findStage, parseDockerfile, type Dockerfile } from './dockerfile.ts';

/** See `ImageBuilder.declaredArguments`. */
export async function declaredArguments(source: BuildSource): Promise<readonly string[]> {
  try {
    return [...parseDockerfile((await openContext(source)).dockerfile).argumentNames];
  } catch {
    return [];
  }
}

/**
 * Returns the Dockerfile of a context. Fails with DOCKERFILE_INVALID or BUILD_TARGET_MISSING if that is detectable
 * without building.
 */
export function checkedDockerfile(files: BuildContext, request: Pick<BuildRequest, 'targetStage'>): Dockerfile {
  const dockerfile = parseDockerfile(files.dockerfile);
  if (dockerfile.fault) {
    throw new DriverError({
      cause: 'DOCKERFILE_INVALID',
      message: `${files.dockerfilePath}, line ${dockerfile.fault.line}: ${dockerfile.fault.message}.`,
    });
  }
  if (request.targetStage !== null && !findStage(dockerfile, request.targetStage)) {
    const names = dockerfile.stages.flatMap(({ name }) => name ?? []);
    const there = names.length === 0 ? 'none of its stages has a name' : `its stages are ${names.join(', ')}`;
    throw new DriverError({
      cause: 'BUILD_TARGET_MISSING',
      message: `${files.dockerfilePath} has no stage ${request.targetStage}; ${there}.`,
    });
  }
  return dockerfile;
}
