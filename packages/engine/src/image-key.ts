import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { canonicalJson } from '@davit/base';

/** What decides the content of a built image. */
export interface ImageContent {
  readonly repositoryUrl: string;
  readonly commit: string;
  /**
   * Id of the tree at `rootPath` (`GitSourceDriver.treeOf`). Given, it stands for repository, commit and folder: a commit that
   * leaves the folder alone gets the same key. Submodules and files of Git LFS are in it by their ids.
   */
  readonly tree?: string;
  readonly rootPath: string;
  readonly dockerfilePath: string;
  readonly targetStage: string | null;
  /** The text of the Dockerfile where it is no file of the repository. */
  readonly dockerfile?: string;
  readonly arguments: Readonly<Record<string, string>>;
}

/** 32 hexadecimal digits: equal for equal content, so that it is not built twice. Pure. */
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
