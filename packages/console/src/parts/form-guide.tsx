import type { ReactNode } from 'react';
import { hidesSecret } from '../command-line.ts';
import { withoutTurns } from '../text.ts';
import { CopyButton } from './once.tsx';

/** The text beside a form: the outcome of its values, what follows, and the command that does the same. */
export interface Guide {
  /** Describes what the button makes, as the values are now. Facts that are not known yet are left out. */
  readonly facts?: { readonly title: string; readonly rows: readonly Fact[] };
  readonly steps: { readonly title: string; readonly lines: readonly string[] };
  readonly command?: string;
}

export type Fact = readonly [name: string, words: string];

/** The second column of a form. It stays in view beside a long one; where there is no room, it stands below. */
export function FormGuide({ facts, steps, command }: Guide): ReactNode {
  return (
    <section className="form-guide" aria-label="What comes of it">
      {facts !== undefined && (
        <div>
          <h2>{facts.title}</h2>
          {facts.rows.length === 0 && <p className="text-muted">Nothing is entered yet.</p>}
          <dl>
            {facts.rows.map(([name, words]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <bdi>{withoutTurns(words)}</bdi>
                </dd>
              </div>
            ))}
          </dl>
        </div>
      )}
      <div>
        <h2>{steps.title}</h2>
        <ul>
          {steps.lines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      </div>
      {command !== undefined && (
        <details>
          <summary>As a command</summary>
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a box that scrolls must be reached by keyboard */}
          <pre className="seen" tabIndex={0} aria-label="The command">
            {command}
          </pre>
          {hidesSecret(command) && <p className="text-muted">Write your secrets in place of the three dots.</p>}
          <CopyButton text={command} words="Copy the command" />
        </details>
      )}
    </section>
  );
}
