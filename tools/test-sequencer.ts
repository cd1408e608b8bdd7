import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Begins with the crash matrix. On a machine that has not run the tests before, Vitest begins with the largest files;
 * those of the matrix have three lines and take longest, so one worker ran them while the other had nothing left.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return longestFirst(await super.sort(files));
  }
}

/** Returns the files with those of the crash matrix before all others, otherwise in the same order. */
export function longestFirst<File extends { readonly moduleId: string }>(files: readonly File[]): File[] {
  const isLong = ({ moduleId }: File): boolean => moduleId.includes('/crash-of-');
  return [...files.filter(isLong), ...files.filter((file) => !isLong(file))];
}
