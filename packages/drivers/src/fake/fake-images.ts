import type { CallContext } from '../driver.ts';
import type { BuildRequest, BuiltImage, EngineImages, PullRequest, PushRequest } from '../image-builder.ts';
import type { DiskSpace, ImageStore } from '../stored-images.ts';
import type { Calls } from './calls.ts';
import { digest } from './digest.ts';

/** The images, their builders, and the disk that stores them. */
export class FakeImages {
  readonly images = new Map<string, BuiltImage>();
  readonly builds: BuildRequest[] = [];
  readonly pulls: PullRequest[] = [];
  readonly pushes: PushRequest[] = [];
  /** Space of the engine's disk; null if unknown. */
  space: DiskSpace | null = null;
  /** Size of the build cache. */
  cacheBytes = 0;
  readonly #calls: Calls;
  /** Names by id. Tests change `images` themselves, so an entry may be old. */
  readonly #names = new Map<string, string>();

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Returns whether there is an image with this id. */
  has(id: string): boolean {
    if (this.images.get(this.#names.get(id) ?? '')?.id === id) return true;
    for (const [name, image] of this.images) this.#names.set(image.id, name);
    return this.images.get(this.#names.get(id) ?? '')?.id === id;
  }

  readonly builder: EngineImages = {
    declaredArguments: () => Promise.resolve([]),
    find: (image, signal) =>
      this.#calls.call(
        { method: 'find', service: serviceOf(image), detail: image },
        signal,
        () => this.images.get(image) ?? null,
      ),
    build: (request: BuildRequest, context: CallContext) =>
      this.#calls.call({ method: 'build', service: request.owner.service, detail: request.image }, context.signal, () => {
        this.builds.push(request);
        context.log(`building ${request.image}`);
        const image = { id: `sha256:${digest(request.image)}`, sizeBytes: 1_000 };
        this.images.set(request.image, image);
        this.#names.set(image.id, request.image);
        return image;
      }),
    pull: (request, { signal }) =>
      this.#calls.call({ method: 'pull', service: '', detail: request.reference }, signal, () => {
        const { reference } = request;
        this.pulls.push(request);
        const id = `sha256:${digest(reference)}`;
        this.images.set(reference, { id, sizeBytes: 1_000 });
        return { id, sizeBytes: 1_000, digest: id };
      }),
    push: (request, { signal }) =>
      this.#calls.call({ method: 'push', service: serviceOf(request.image), detail: request.reference }, signal, () => {
        this.pushes.push(request);
        return { digest: `sha256:${digest(request.reference)}` };
      }),
    removeImages: (ids, { signal }) =>
      this.#calls.call({ method: 'removeImages', service: '', detail: ids.join(' ') }, signal, () => {
        for (const [name, image] of this.images) if (ids.includes(image.id)) this.images.delete(name);
      }),
  };

  readonly imageStore: ImageStore = {
    list: (signal) =>
      this.#calls.call({ method: 'list', service: '', detail: '' }, signal, () =>
        [...Map.groupBy(this.images, ([, { id }]) => id)].map(([id, named]) => ({
          id,
          names: named.map(([name]) => name),
          sizeBytes: 1_000,
          createdAt: '2026-01-01T00:00:00.000Z',
          service: named.map(([name]) => builtFor(name)).find((service) => service !== null) ?? null,
        })),
      ),
    space: (signal) => this.#calls.call({ method: 'space', service: '', detail: '' }, signal, () => this.space),
    cacheBytes: () => Promise.resolve(this.cacheBytes),
    pruneCache: (keepBytes, signal) =>
      this.#calls.call({ method: 'pruneCache', service: '', detail: String(keepBytes) }, signal, () => {
        const freed = Math.max(0, this.cacheBytes - keepBytes);
        this.cacheBytes -= freed;
        return freed;
      }),
    release: ({ id, names }, { signal }) =>
      this.#calls.call({ method: 'release', service: '', detail: id }, signal, () => {
        for (const [name, image] of this.images) if (image.id === id && names.includes(name)) this.images.delete(name);
        return [...this.images.values()].some((image) => image.id === id) ? 'NAMED' : 'GONE';
      }),
  };
}

function builtFor(name: string): string | null {
  return /^davit\/([^:]+):/.exec(name)?.[1] ?? null;
}

function serviceOf(image: string): string {
  return image.split('/')[1]?.split(':')[0] ?? '';
}
