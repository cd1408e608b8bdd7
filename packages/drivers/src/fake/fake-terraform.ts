import { randomUUID } from 'node:crypto';
import { DriverError } from '../errors.ts';
import type { StateStore, TerraformDriver, TerraformOutput, TerraformRun, TerraformSession } from '../terraform-driver.ts';

/** The only resource of a fake configuration. It keeps its id when it is changed, as real resources do. */
export interface FakeResource {
  readonly id: string;
  readonly text: string;
}

/**
 * Terraform in memory. Each configuration describes one resource, whose text is its variable `text`. States are stored
 * in Davit. Plan, apply and destroy read and write them under their lock, so that an interrupted apply leaves the same
 * state as a real one.
 */
export class FakeTerraform implements TerraformDriver {
  /** The resources that exist in the outside world, by service. */
  readonly resources = new Map<string, FakeResource>();
  /** The operations performed, in order: `apply text`, `destroy`. */
  readonly done: string[] = [];
  /** The saved plan of each run. It outlives its session, as the file of a real plan does. */
  readonly #plans = new Map<string, FakeResource | null>();
  readonly #applied = new Set<string>();

  versions: TerraformDriver['versions'] = () => Promise.resolve([{ engine: 'TERRAFORM', version: '1.0.0' }]);
  remove: TerraformDriver['remove'] = () => Promise.resolve();
  end: TerraformDriver['end'] = () => Promise.resolve([]);
  hasUnstoredState: TerraformDriver['hasUnstoredState'] = () => Promise.resolve(false);

  open(run: TerraformRun): Promise<TerraformSession> {
    const { service } = run.owner;
    const store = storeOf(run);
    const state = async (): Promise<FakeResource | null> => parse(await store.read());
    return Promise.resolve({
      isNew: false,
      init: () => Promise.resolve(),
      plan: async (_call, options) => {
        const now = await state();
        this.#applied.delete(run.id);
        const planned = options?.destroy === true ? null : { id: now?.id ?? randomUUID(), text: run.variables['text'] ?? '' };
        this.#plans.set(run.id, planned);
        return { changes: now?.text !== planned?.text };
      },
      apply: async () => {
        const planned = this.#plans.get(run.id);
        if (planned === undefined) throw new Error(`${run.name} is applied without a plan`);
        this.#applied.add(run.id);
        await locked(store, async () => {
          this.done.push(planned === null ? 'destroy' : `apply ${planned.text}`);
          if (planned === null) this.resources.delete(service);
          else this.resources.set(service, planned);
          await store.write(JSON.stringify({ resources: planned === null ? [] : [planned] }));
        });
      },
      wasApplied: () => Promise.resolve(this.#applied.has(run.id)),
      outputs: async () => outputsOf(await state()),
      resources: () => Promise.resolve([]),
      pull: async () => (await store.read()) ?? '',
      push: (text) => store.write(text),
      close: () => Promise.resolve(),
    });
  }
}

function storeOf({ backend, name }: TerraformRun): StateStore {
  if ('store' in backend) return backend.store;
  throw new Error(`the state of ${name} is not with Davit, and the fake knows no other`);
}

function parse(text: string | null): FakeResource | null {
  const state: { readonly resources: readonly FakeResource[] } | null = text === null ? null : JSON.parse(text);
  return state?.resources[0] ?? null;
}

function outputsOf(resource: FakeResource | null): TerraformOutput[] {
  return resource === null ? [] : [{ name: 'text', value: resource.text, sensitive: false }];
}

async function locked(store: StateStore, action: () => Promise<void>): Promise<void> {
  const lock = { ID: randomUUID(), Operation: 'OperationTypeApply', Who: 'fake' };
  const held = await store.lock(lock);
  if (held !== null) {
    throw new DriverError({ cause: 'TERRAFORM_STATE_LOCKED', message: `the state is locked by ${String(held['Who'])}` });
  }
  await action();
  await store.unlock(lock.ID);
}
