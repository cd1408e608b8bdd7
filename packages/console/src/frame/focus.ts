import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';

/*
 * Keeps the place of a reader with a keyboard. A browser moves the focus to the body when the focused element is
 * removed, and the next key would begin at the top of the page.
 */

/** Elements that have a heading of their own. */
const containers = 'section, form, dialog, main';

/** Keeps the focus near an element that is removed from the page: at the heading of the part where it was. */
export function keepFocus(): void {
  let path: Element[] = [];
  const remember = ({ target }: FocusEvent): void => {
    path = target instanceof Element ? withAncestors(target) : [];
  };
  const isLost = (): boolean => document.activeElement === document.body;
  const forget = (): void => {
    // A reader who clicks on a text leaves the element on purpose. A removed or hidden element is gone by then.
    setTimeout(() => {
      if (isLost() && isThere(path[0])) path = [];
    });
  };
  const watch = new MutationObserver(() => {
    if (path.length === 0 || !isLost() || isThere(path[0])) return;
    // While a page is being loaded there is nothing to focus; the next change of the page looks again.
    const left = path.find(isThere);
    focusHeading(left?.closest(containers) ?? document);
  });
  document.addEventListener('focusin', remember);
  document.addEventListener('focusout', forget);
  watch.observe(document.body, { subtree: true, childList: true });
}

/** Moves the focus to the new page after a navigation from outside of it, as by the rail or the finder. */
export function useFocusOfPages(): void {
  const router = useRouter();
  useEffect(
    () =>
      router.subscribe('onRendered', ({ pathChanged, fromLocation }) => {
        const active = document.activeElement;
        if (!pathChanged || fromLocation === undefined || active?.closest('main, dialog') != null) return;
        focusHeading(document);
      }),
    [router],
  );
}

/** Returns whether an element is shown. While a page is being loaded, React hides the one before. */
function isThere(element: Element | undefined): boolean {
  return element?.isConnected === true && element.checkVisibility();
}

function withAncestors(element: Element): Element[] {
  const above: Element[] = [];
  for (let one: Element | null = element; one !== null; one = one.parentElement) above.push(one);
  return above;
}

/** Focuses the first heading of a place; without one the place itself. */
function focusHeading(location: Element | Document): void {
  const root =
    location instanceof Document ? (location.querySelector('dialog[open]') ?? location.querySelector('main')) : location;
  const target = [...(root?.querySelectorAll('h1, h2') ?? [])].find(isThere) ?? root;
  if (!(target instanceof HTMLElement) || !isThere(target)) return;
  target.tabIndex = -1;
  target.focus();
}
