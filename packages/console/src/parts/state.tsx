import type { ReactNode } from 'react';
import {
  sentence,
  shapeOf,
  shapeOfService,
  wordsOf,
  type RunningWord,
  type States,
  type Shape,
  type StateWord,
} from '../words.ts';

const drawings: Readonly<Record<Shape, ReactNode>> = {
  ok: <circle cx="6" cy="6" r="4.6" fill="currentColor" />,
  go: (
    <g fill="none" stroke="currentColor" strokeWidth="1.8">
      <circle cx="6" cy="6" r="4.4" opacity=".28" />
      <path className="turn" d="M6 1.6A4.4 4.4 0 0110.4 6" strokeLinecap="round" />
    </g>
  ),
  wait: <circle cx="6" cy="6" r="4.4" fill="none" stroke="currentColor" strokeWidth="1.5" strokeDasharray="2.2 2.4" />,
  warn: <path d="M6 1.2l5.2 9.4H.8z" fill="currentColor" />,
  bad: (
    <g>
      <rect x="1.2" y="1.2" width="9.6" height="9.6" rx="1.6" fill="currentColor" />
      <path d="M4 4l4 4M8 4L4 8" stroke="var(--surface)" strokeWidth="1.5" strokeLinecap="round" />
    </g>
  ),
  off: <rect x="2" y="2" width="8" height="8" rx="1.4" fill="none" stroke="currentColor" strokeWidth="1.5" />,
};

/** The shape of a state alone, beside text that names the state. */
export function Mark({ shape }: { readonly shape: Shape }): ReactNode {
  return (
    <svg viewBox="0 0 12 12" aria-hidden="true">
      {drawings[shape]}
    </svg>
  );
}

/** A state: its shape, its colour and a word. */
export function State({ shape, children }: { readonly shape: Shape; readonly children?: ReactNode }): ReactNode {
  return (
    <span className={`state s-${shape}`}>
      <Mark shape={shape} />
      {children !== undefined && <span className="w">{children}</span>}
    </span>
  );
}

/** A state word of the API. */
export function StateOf({ word }: { readonly word: StateWord | RunningWord }): ReactNode {
  return <State shape={shapeOf(word)}>{sentence(word)}</State>;
}

/** The words about a service: the more urgent one, and below it the other one. */
export function ServiceStates({ status }: { readonly status: States }): ReactNode {
  const [first, second] = wordsOf(status);
  return (
    <>
      <StateOf word={first} />
      {second !== undefined && <div className="under pl-[19px]">{sentence(second)}</div>}
    </>
  );
}

const stripColours: Readonly<Record<Shape, string>> = {
  ok: 's-ok',
  go: 's-go',
  wait: 's-wait',
  warn: 's-warn',
  bad: 's-bad',
  off: 's-off',
};
const largestStrip = 40;

/** The services of an environment in one glance. */
export function Strip({ services }: { readonly services: readonly States[] }): ReactNode {
  const shapes = services.map(shapeOfService);
  const counts = Map.groupBy(
    services.map((status) => sentence(wordsOf(status)[0])),
    (word) => word,
  );
  const label = [...counts].map(([word, all]) => `${all.length} ${word.toLowerCase()}`).join(', ');
  return (
    <span className="strip" role="img" aria-label={label === '' ? 'No services' : label} title={label}>
      {shapes.slice(0, largestStrip).map((shape, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- the marks have no identity beside their place
        <span key={index} className={stripColours[shape]}>
          <Mark shape={shape} />
        </span>
      ))}
      {shapes.length > largestStrip && <span className="under">+{shapes.length - largestStrip}</span>}
    </span>
  );
}
