import type { ReactNode } from 'react';
import { plainText } from '../ansi.ts';
import { withoutTurns } from '../text.ts';
import type { ServiceStatus } from '../words.ts';
import { State } from './state.tsx';

export type Failure = NonNullable<ServiceStatus['failure']>;

interface VerdictProps {
  readonly failure: Failure;
  readonly isWarning?: boolean;
  /** The differences from the last deployment that worked. */
  readonly changed?: ReactNode;
  /** Whether anybody is harmed now. */
  readonly now?: ReactNode;
  readonly actions?: ReactNode;
}

/** A failure that explains itself: what happened, what was seen, what to do, what changed, and what is so now. */
export function Verdict({ failure, isWarning, changed, now, actions }: VerdictProps): ReactNode {
  const seen = seenIn(failure);
  return (
    <section className={`verdict ${isWarning === true ? 'warn' : ''}`} aria-label={`Why: ${failure.message}`}>
      <h2>
        <State shape={isWarning === true ? 'warn' : 'bad'} />
        <bdi>{withoutTurns(failure.message)}</bdi>
        <a className="code" href={failure.link}>
          {failure.code}
        </a>
      </h2>
      <div>
        {seen !== '' && (
          <>
            <h3>What was seen</h3>
            {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a box that scrolls must be reached by keyboard */}
            <pre className="seen" tabIndex={0}>
              <bdi>{seen}</bdi>
            </pre>
          </>
        )}
        <h3>What to do</h3>
        <p>{failure.hint}</p>
        {actions !== undefined && <div className="do">{actions}</div>}
      </div>
      <div>
        {changed !== undefined && (
          <>
            <h3>What changed since it last worked</h3>
            <div className="seen">{changed}</div>
          </>
        )}
        {now !== undefined && (
          <>
            <h3>Now</h3>
            <p>{now}</p>
          </>
        )}
      </div>
    </section>
  );
}

function seenIn({ evidence: { lines = [], exit, probe = [], listening = [], original } }: Failure): string {
  const all = [
    ...lines,
    ...(exit === undefined ? [] : [`exit code ${exit.code}${exit.out_of_memory ? ', killed for memory' : ''}`]),
    ...probe.map((line) => `probe ${line}`),
    ...(listening.length === 0 ? [] : [`listens on ${listening.join(', ')}`]),
    ...(original === undefined ? [] : [original]),
  ];
  return all.map(plainText).join('\n');
}
