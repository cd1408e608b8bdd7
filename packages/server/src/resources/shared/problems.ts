import { AppError, type ErrorDetail } from '@davit/base';

export { notFound } from '../../auth/authorize.ts';

/** Collects all errors in a request, so that its author can fix all of them at once. */
export class Problems {
  readonly #found: ErrorDetail[] = [];

  /** Adds an error. `path` has the form `ports.0.internal_port`; `message` describes the correct value. */
  add(path: string, message: string): void {
    this.#found.push({ path, message });
  }

  /**
   * Returns a view of the collection that adds a prefix, such as `source.docker`, to paths. For checks of nested
   * members.
   */
  below(prefix: string): Problems {
    const below = new Problems();
    below.add = (path, message) => this.add(`${prefix}.${path}`, message);
    return below;
  }

  get found(): readonly ErrorDetail[] {
    return this.#found;
  }

  /** Fails with VALIDATION_FAILED and all errors, if there are any. */
  throwIfAny(): void {
    if (this.#found.length > 0) throw validationError(this.#found);
  }
}

/** Returns a VALIDATION_FAILED error for several paths, with the wording of schema validation. */
export function validationError(errors: readonly ErrorDetail[]): AppError {
  const texts = errors.map((error) => (error.path === '' ? error.message : `${error.path} ${error.message}`));
  return new AppError({ code: 'VALIDATION_FAILED', message: `Validation error: ${texts.join('; ')}`, errors });
}

/** Returns a VALIDATION_FAILED error for one path. */
export function invalid(path: string, message: string): AppError {
  return validationError([{ path, message }]);
}

/** Returns an INVALID_REFERENCE error: an id in the request's body references no usable record. */
export function invalidReference(path: string, message: string): AppError {
  return new AppError({ code: 'INVALID_REFERENCE', message: `${path} ${message}`, errors: [{ path, message }] });
}

/**
 * Returns whether a path is, or is below, a folder that the kernel and the engine create for each process. Nothing can
 * be mounted there.
 */
export function isSystemPath(path: string): boolean {
  return /^\/+(?:\.\/+)*(?:proc|sys|dev)(?:\/|$)/.test(path);
}

/** More folders than this cannot be mounted: Docker follows at most 255 names of a path. */
const mostFolders = 100;
/** Longest name of a file or folder in bytes (NAME_MAX of Linux). */
const longestName = 255;

/** Returns why no cluster can have a file or folder at an absolute path, or null. */
export function pathFault(path: string): string | null {
  const names = path.split('/');
  if (names.length > mostFolders) return `must have at most ${mostFolders} folders`;
  if (names.some((name) => Buffer.byteLength(name) > longestName))
    return `must not have a name of more than ${longestName} bytes`;
  return path.includes(':') ? 'must not contain a colon, because no Kubernetes cluster mounts such a path' : null;
}

/** Returns whether a path leaves its root because a segment is `..`. */
export function leavesRoot(path: string): boolean {
  return path.split(/[/\\]/).includes('..');
}
