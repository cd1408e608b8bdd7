/**
 * Shows other pages of the reference in place, so that the token and the values of a trial stay in memory. Browsers
 * without the Navigation API load whole pages. `onPage` is called after each change.
 */
export function navigateWithin(onPage: () => void): void {
  if (!('navigation' in window)) return;
  let isLeaving = false;
  navigation.addEventListener('navigate', (event) => {
    const url = new URL(event.destination.url);
    const isOther = !event.canIntercept || event.hashChange || event.downloadRequest !== null || event.formData !== null;
    if (isLeaving || isOther || event.navigationType === 'reload' || !isPage(url)) return;
    event.intercept({
      focusReset: 'manual',
      handler: async () => {
        try {
          const answer = await fetch(url, { signal: event.signal });
          show(await answer.text());
        } catch (error) {
          if (event.signal.aborted) throw error;
          // The server cannot be reached: the browser says so.
          isLeaving = true;
          location.assign(url);
          return;
        }
        onPage();
      },
    });
  });
}

function isPage({ origin, pathname }: URL): boolean {
  return origin === location.origin && (pathname === '/docs' || pathname.startsWith('/docs/'));
}

function show(text: string): void {
  const page = new DOMParser().parseFromString(text, 'text/html');
  document.title = page.title;
  for (const id of ['contents', 'content']) {
    const part = page.getElementById(id);
    if (part !== null) document.getElementById(id)?.replaceChildren(...part.childNodes);
  }
  document.getElementById('content')?.focus({ preventScroll: true });
}
