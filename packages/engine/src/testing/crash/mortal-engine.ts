import { failingDatabase } from '@davit/testkit/failing-database';
import { createEngine, type Engine, type EngineInput } from '../../index.ts';

/** An engine in the test's own process that can end as a process does that is killed. */
export interface MortalEngine {
  /** While true, each statement fails as if the database were unreachable. */
  isCut: boolean;
  /** How many statements have failed because of `isCut`. */
  readonly refused: number;
  /**
   * From now on nothing that the engine does has an effect: its statements and its calls to drivers fail. Synchronous, so that
   * it takes effect at the very point at which it is called.
   */
  kill(): void;
  /** Begins to work. A deployment that waits may come to its next point, and be killed there, before this resolves. */
  start(): Promise<void>;
  /** Ends it in order, or waits until all of a killed one has ended; its locks are released then. */
  stop(): Promise<void>;
}

/** An engine of these parts, which does not work yet. The database and the cluster stay as they are when it is killed. */
export function createMortal(input: EngineInput): MortalEngine {
  const state = { isDead: false, isCut: false, refused: 0 };
  const database = failingDatabase(input.database, () => {
    if (state.isCut) state.refused += 1;
    return state.isDead || state.isCut;
  });
  const isDead = (): boolean => state.isDead;
  const engine: Engine = createEngine({
    ...input,
    database,
    drivers: mortal(input.drivers, isDead),
    ...(input.terraform !== undefined && { terraform: mortal(input.terraform, isDead) }),
    ...(input.helm !== undefined && { helm: mortal(input.helm, isDead) }),
  });
  let started = Promise.resolve();
  return {
    get isCut() {
      return state.isCut;
    },
    set isCut(isCut) {
      state.isCut = isCut;
    },
    get refused() {
      return state.refused;
    },
    kill: () => {
      state.isDead = true;
    },
    start: () => (started = engine.start()),
    stop: async () => {
      await started;
      await engine.stop();
    },
  };
}

/** The same object, of which no method can be called any more once `isDead`. */
function mortal<Driver extends object>(driver: Driver, isDead: () => boolean): Driver {
  return new Proxy(driver, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key);
      if (typeof member === 'function') {
        return (...given: unknown[]): unknown => {
          if (isDead()) throw new Error('this process was killed');
          const answer: unknown = Reflect.apply(member, target, given);
          // A session of Helm or Terraform belongs to the process that opened it.
          return answer instanceof Promise ? answer.then((value) => (isSession(value) ? mortal(value, isDead) : value)) : answer;
        };
      }
      return typeof member === 'object' && member !== null && !(member instanceof Map) ? mortal(member, isDead) : member;
    },
  });
}

function isSession(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'close' in value;
}
