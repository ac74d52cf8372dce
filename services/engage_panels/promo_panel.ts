import { element, textBlock } from './build_element.ts';
import type { Panel } from './panel_frame.ts';
import type { PromoContent, Words } from './shown_item.ts';

/** Loads a promo's picture, so that nothing moves when it comes; undefined where there is none, or it does not come. */
export async function pictureOf({ image_url, image_alt }: PromoContent): Promise<HTMLImageElement | undefined> {
  if (!image_url) return undefined;
  const picture = element('img', { alt: image_alt, referrerPolicy: 'no-referrer', src: image_url });
  return picture.decode().then(
    () => picture,
    () => undefined,
  );
}

/** Shows a promo. */
export function showPromo(
  panel: Panel,
  { title, body, button, code }: PromoContent,
  picture: HTMLImageElement | undefined,
  words: Words,
  did: (action: 'click' | 'copy_code') => void,
): void {
  const link = element('a', { className: 'button', href: button.url, onclick: () => did('click') }, button.text);
  const copy = element('button', { ariaLive: 'polite' }, words.copy);
  copy.onclick = () => {
    const done = (): void => {
      copy.textContent = words.copied;
      did('copy_code');
    };
    // Where the browser does not let it, the visitor can still select the text.
    navigator.clipboard?.writeText(code).then(done, () => undefined);
  };
  panel.fill(
    textBlock('h2', title),
    picture ?? false,
    textBlock('p', body),
    code !== '' && element('div', { className: 'row' }, element('code', {}, code), copy),
    button.url !== '' && link,
  );
}
