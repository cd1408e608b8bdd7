import { useRouter } from '@tanstack/react-router';
import type { MouseEvent, ReactNode } from 'react';
import { isPlainClick } from './modifiers.ts';

interface PlainLinkProps {
  /** The address below `/console`. */
  readonly to: string;
  readonly className?: string;
  readonly isHere?: boolean;
  readonly children: ReactNode;
}

/**
 * A link to a page of the console, for lists with hundreds of them: a link of the router reads the address again at
 * each navigation, which costs more than all else in a row.
 */
export function PlainLink({ to, className, isHere, children }: PlainLinkProps): ReactNode {
  const router = useRouter();
  const open = (event: MouseEvent): void => {
    if (!isPlainClick(event)) return;
    event.preventDefault();
    void router.navigate({ to });
  };
  return (
    <a href={`/console${to}`} className={className} aria-current={isHere === true ? 'page' : undefined} onClick={open}>
      {children}
    </a>
  );
}
