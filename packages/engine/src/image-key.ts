import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { canonicalJson } from '@davit/base';

/** The inputs that determine the content of a built image. */
export interface ImageContent {
  readonly repositoryUrl: string;
  readonly commit: string;
  /**
   * Id of the tree at `rootPath` (`GitSourceDriver.treeOf`). If given, it replaces repository, commit and folder: a
   * commit that does not change the folder yields the same key. Submodules and Git LFS files are part of the tree by
   * their ids.
   */
  readonly tree?: string;
  readonly rootPath: string;
  readonly dockerfilePath: string;
  readonly targetStage: string | null;
  /** Text of the Dockerfile, if it is not a file of the repository. */
  readonly dockerfile?: string;
  readonly arguments: Readonly<Record<string, string>>;
}

/** Returns 32 hexadecimal digits that are equal for equal content, so that the content is not built twice. Pure. */
export function imageKey(content: ImageContent): string {
  const source =
    content.tree === undefined
      ? { repository: content.repositoryUrl, commit: content.commit.toLowerCase(), rootPath: normalized(content.rootPath) }
      : { tree: content.tree };
  const decisive = {
    source,
    dockerfile: normalized(content.dockerfilePath),
    target: content.targetStage,
    ...(content.dockerfile !== undefined && { text: content.dockerfile }),
    arguments: content.arguments,
  };
  return createHash('sha256').update(canonicalJson(decisive)).digest('hex').slice(0, 32);
}

function normalized(path: string): string {
  return posix.normalize(`/${path}`).replace(/(.)\/$/, '$1');
}
