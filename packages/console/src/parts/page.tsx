import type { ReactNode } from 'react';
import { ago, fullTime, useNow } from '../time.ts';

interface HeadProps {
  readonly title: string;
  readonly facts: ReactNode;
  readonly actions?: ReactNode;
}

/** The top of a page: what it is about, the facts in one line, and what can be done. */
export function Head({ title, facts, actions }: HeadProps): ReactNode {
  return (
    <div className="head">
      <div>
        <h1>
          <bdi>{title}</bdi>
        </h1>
        <div className="facts">{facts}</div>
      </div>
      {actions !== undefined && <div className="do">{actions}</div>}
    </div>
  );
}

/** A text of others: cut where it does not fit, whole in its title. It cannot change the direction of its line. */
export function Cut({ text }: { readonly text: string }): ReactNode {
  return (
    <bdi className="cut" title={text.length > 1000 ? `${text.slice(0, 1000)}…` : text}>
      {text}
    </bdi>
  );
}

/** How long ago something was; the whole time is its title. */
export function Ago({ at }: { readonly at: string }): ReactNode {
  const now = useNow();
  return (
    <time dateTime={at} title={fullTime(at)}>
      {ago(at, now)}
    </time>
  );
}

/** A box with a heading. */
export function Box({
  title,
  more,
  children,
}: {
  readonly title: string;
  readonly more?: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <section className="box" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {more !== undefined && <span className="more">{more}</span>}
      </header>
      {children}
    </section>
  );
}
