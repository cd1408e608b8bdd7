import { Fragment, type ReactNode } from 'react';
import { withoutTurns } from '../text.ts';
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
          <bdi>{withoutTurns(title)}</bdi>
        </h1>
        <div className="facts">{facts}</div>
      </div>
      {actions !== undefined && <div className="do">{actions}</div>}
    </div>
  );
}

/** A text of others: cut where it does not fit, whole in its title. It cannot change the direction of its line. */
export function Cut({ text }: { readonly text: string }): ReactNode {
  const shown = withoutTurns(text);
  return (
    <bdi className="cut" title={titleOf(shown)}>
      {shown}
    </bdi>
  );
}

interface CutAllProps {
  readonly texts: readonly string[];
  readonly between?: string;
}

/** Texts of others in one line, cut where they do not fit. None of them changes the direction of its neighbours. */
export function CutAll({ texts, between = ' · ' }: CutAllProps): ReactNode {
  const shown = texts.map(withoutTurns);
  return (
    <span className="cut" title={titleOf(shown.join(between))}>
      {shown.map((text, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- the texts have no identity beside their place
        <Fragment key={index}>
          {index > 0 && between}
          <bdi>{text}</bdi>
        </Fragment>
      ))}
    </span>
  );
}

function titleOf(text: string): string {
  return text.length > 1000 ? `${text.slice(0, 1000)}…` : text;
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
