import { AppError, type ErrorDetail } from '@davit/base';

export { notFound } from '../../auth/authorize.ts';

/** Collects everything that is wrong with a request, so that its author corrects it once. */
export class Problems {
  readonly #found: ErrorDetail[] = [];

  /** `path` as in `ports.0.internal_port`; `message` says what would be right. */
  add(path: string, message: string): void {
    this.#found.push({ path, message });
  }

  /** The same collection, for checks that name places from a member of the request on: `source.docker` and the like. */
  below(prefix: string): Problems {
    const below = new Problems();
    below.add = (path, message) => this.add(`${prefix}.${path}`, message);
    return below;
  }

  get found(): readonly ErrorDetail[] {
    return this.#found;
  }

  /** VALIDATION_FAILED with all that was added; returns when nothing was. */
  throwIfAny(): void {
    if (this.#found.length > 0) throw validationError(this.#found);
  }
}

/** VALIDATION_FAILED for several places, in the words that a request against its schema is refused with. */
export function validationError(errors: readonly ErrorDetail[]): AppError {
  const texts = errors.map((error) => (error.path === '' ? error.message : `${error.path} ${error.message}`));
  return new AppError({ code: 'VALIDATION_FAILED', message: `Validation error: ${texts.join('; ')}`, errors });
}

/** VALIDATION_FAILED for one place. */
export function invalid(path: string, message: string): AppError {
  return validationError([{ path, message }]);
}

/** INVALID_REFERENCE: an id in the request's body names nothing that may be used here. */
export function invalidReference(path: string, message: string): AppError {
  return new AppError({ code: 'INVALID_REFERENCE', message: `${path} ${message}`, errors: [{ path, message }] });
}

/** Whether a text has control characters (line ends and tabs included). */
export function hasControlCharacter(text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return /[\u0000-\u001f\u007f]/.test(text);
}

/** Whether a path is, or is below, a folder that the kernel and the engine make for each process: nothing can be placed there. */
export function isSystemPath(path: string): boolean {
  return /^\/+(?:\.\/+)*(?:proc|sys|dev)(?:\/|$)/.test(path);
}

/** Whether a path leaves its root: a segment is `..`. */
export function leavesRoot(path: string): boolean {
  return path.split(/[/\\]/).includes('..');
}
