import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { PlainLink } from './plain-link.tsx';

interface ButtonLinkProps {
  /** The address below `/console`. */
  readonly to: string;
  /** Why the session may not do what the page is for; null: it may, or that is not known yet. */
  readonly refusal: string | null;
  readonly isMain?: boolean;
  readonly children: ReactNode;
}

/** A button that leads to a page where something begins. It says why not, if the session may not begin it. */
export function ButtonLink({ to, refusal, isMain = false, children }: ButtonLinkProps): ReactNode {
  if (refusal !== null) {
    return (
      <Button look={isMain ? 'main' : 'plain'} refusal={refusal}>
        {children}
      </Button>
    );
  }
  return (
    <PlainLink to={to} className={`button ${isMain ? 'main' : ''}`}>
      {children}
    </PlainLink>
  );
}
