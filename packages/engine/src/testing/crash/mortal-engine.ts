import { failingDatabase } from '@davit/testkit/failing-database';
import { createEngine, type Engine, type EngineInput } from '../../index.ts';

/** An engine in the test's own process that can end as abruptly as a killed process. */
export interface MortalEngine {
  /** Whether `kill` was called. */
  readonly isDead: boolean;
  /** While true, each statement fails as if the database were unreachable. */
  isCut: boolean;
  /** Number of statements that failed because of `isCut`. */
  readonly refused: number;
  /**
   * Makes all later statements and driver calls of the engine fail, so that the engine has no further effect. The
   * method is synchronous, so that it takes effect at exactly the point at which it is called.
   */
  kill(): void;
  /**
   * Starts the engine. A waiting deployment or a former instance may reach its next point before this resolves. If the
   * engine is killed there, the start may reject.
   */
  start(): Promise<void>;
  /** Stops the engine in order, or waits until all work of a killed engine has ended. Its locks are released then. */
  stop(): Promise<void>;
}

/**
 * Creates an engine from these parts without starting it. The database and the cluster stay unchanged when the engine
 * is killed.
 */
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
    get isDead() {
      return state.isDead;
    },
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
      // The start of a killed engine waits for its database until the engine stops.
      if (state.isDead) await Promise.allSettled([engine.stop(), started]);
      else {
        await started;
        await engine.stop();
      }
    },
  };
}

/** Wraps an object so that its methods fail once `isDead` returns true. */
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
