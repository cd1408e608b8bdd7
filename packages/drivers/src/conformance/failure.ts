import { randomUUID } from 'node:crypto';
import { type Cause, DriverError } from '../errors.ts';
import type { Workload } from '../workload.ts';
import { httpProbe, type ConformanceSetup, type Suite, type Test } from './setup.ts';

/** Tests why a workload does not become ready, with causes and evidence. */
export function failureTests(test: Test, expect: Suite['expect']): void {
  const failure = async (setup: ConformanceSetup, workload: Workload): Promise<DriverError> => {
    try {
      await setup.run(workload);
    } catch (error) {
      if (error instanceof DriverError) return error;
      throw error;
    }
    throw new Error('the workload became ready');
  };
  const expectCause = (error: DriverError, cause: Cause): void => {
    expect({ code: error.code, retryable: error.retryable }).toEqual({ code: cause, retryable: false });
    expect(error.hint).not.toBe('');
  };

  test('fails with PROCESS_EXITED, code and last lines for a process that ends', async (setup) => {
    const error = await failure(setup, setup.workload('EXITS'));
    expectCause(error, 'PROCESS_EXITED');
    expect(error.evidence.exit).toEqual({ code: 3, outOfMemory: false });
    expect(error.evidence.lines).toContain('hello');
  });

  test('fails with PORT_NOT_LISTENING, and names the port that is open', async (setup) => {
    const error = await failure(setup, setup.workload('SERVES_ELSEWHERE', { readyTimeoutSeconds: 2 }));
    expectCause(error, 'PORT_NOT_LISTENING');
    expect(error.message).toMatch(/8080.*9090/);
    expect(error.evidence.listening?.some((address) => address.endsWith(':9090'))).toBe(true);
  });

  test('fails with PROBE_FAILED, and says what the probe was answered', async (setup) => {
    const error = await failure(setup, setup.workload('SERVES', { readiness: httpProbe('/missing'), readyTimeoutSeconds: 2 }));
    expectCause(error, 'PROBE_FAILED');
    expect(error.message).toContain('404');
    expect(error.evidence.probe?.join()).toContain('404');
  });

  test('fails with IMAGE_MISSING for an image that the cluster does not have, or with IMAGE_NOT_FOUND where it pulls itself', async (setup) => {
    const { absentImage } = setup.traits;
    const image = absentImage ?? `davit-conformance/${randomUUID()}:missing`;
    expectCause(
      await failure(setup, setup.workload('SERVES', { image })),
      absentImage === undefined ? 'IMAGE_MISSING' : 'IMAGE_NOT_FOUND',
    );
  });

  test('stops waiting soon after an abort, with the reason of the signal', async (setup) => {
    const workload = setup.workload('SERVES_ELSEWHERE', { readyTimeoutSeconds: 60 });
    await setup.driver.start(workload, setup.context());
    const abort = new AbortController();
    const waiting = setup.driver.awaitReady(workload, setup.context(abort.signal));
    const began = Date.now();
    abort.abort(new Error('cancelled by the user'));
    await expect(waiting).rejects.toThrow('cancelled by the user');
    expect(Date.now() - began).toBeLessThan(2000);
  });
}
