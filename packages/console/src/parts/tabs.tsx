import { useRouterState } from '@tanstack/react-router';
import { Children, useEffect, useRef, type ReactNode } from 'react';

/** The tabs of a page. On a phone they scroll, and the one that is open is in view. */
export function Tabs({ label, children }: { readonly label: string; readonly children: ReactNode }): ReactNode {
  const nav = useRef<HTMLElement>(null);
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  const count = Children.toArray(children).length;
  useEffect(() => {
    const open = nav.current?.querySelector('[aria-current="page"]');
    if (open instanceof HTMLElement) nav.current?.scrollTo({ left: open.offsetLeft - nav.current.offsetWidth / 3 });
  }, [pathname, count]);
  return (
    <nav ref={nav} className="tabs" aria-label={label}>
      {children}
    </nav>
  );
}
