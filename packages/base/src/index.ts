export { AppError, isAppError, never, type AppErrorInput, type ErrorDetail } from './errors.ts';
export { isUuid, type Id } from './ids.ts';
export { Sensitive } from './sensitive.ts';
export { redactor, type Redactor } from './redactor.ts';
export { backoffMilliseconds, retry, type RetryOptions } from './retry.ts';
export { Loop, type LoopOptions } from './loop.ts';
export { systemClock, type Clock } from './clock.ts';
export { abortable } from './abortable.ts';
export { canonicalJson } from './canonical-json.ts';
