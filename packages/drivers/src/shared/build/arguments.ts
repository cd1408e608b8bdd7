import type { BuildRequest } from '../../image-builder.ts';
import type { Dockerfile } from './dockerfile.ts';

export interface OfferedArguments {
  readonly offered: Readonly<Record<string, string>>;
  /** Log lines about the arguments that were withheld. */
  readonly remarks: readonly string[];
}

/**
 * Returns the arguments that the Dockerfile declares, without secrets. Others would be refused or, worse, end up in the
 * image's history. Pure.
 */
export function offeredArguments(
  request: Pick<BuildRequest, 'arguments' | 'secretNames'>,
  dockerfile: Dockerfile,
): OfferedArguments {
  const declared = [...dockerfile.argumentNames];
  const secret = new Set(request.secretNames);
  const kept = declared.filter((name) => secret.has(name));
  const offered = declared.flatMap((name): [string, string][] => {
    const value = Object.hasOwn(request.arguments, name) ? request.arguments[name] : undefined;
    return value === undefined || secret.has(name) ? [] : [[name, value]];
  });
  return {
    offered: Object.fromEntries(offered),
    remarks: kept.map(
      (name) => `ARG ${name} gets no value: ${name} is a secret, and build arguments can be read in the image's history`,
    ),
  };
}
