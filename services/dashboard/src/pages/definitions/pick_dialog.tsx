// Choosing an element by clicking it on one of the site's pages, whose tag hands it back (services/tag/src/scripts/pick_script.ts).
// Whatever a page says is a stranger's: it fills a form that somebody reviews, and no more.

import { useEffect, useState } from 'preact/hooks';
import { registrableDomain } from '#pipelines/settings/public_suffixes.ts';
import { isOriginAllowed } from '#pipelines/settings/url_pattern.ts';
import type { DomainItem, KeyItem } from '#services/control_api/sites.ts';
import { useList } from '../../api/use_answer.ts';
import { readStored, writeStored } from '../../browser_storage.ts';
import { mayAt } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, useLoss } from '../../ui/dialog.tsx';
import { submitHandler, TextField } from '../../ui/form_fields.tsx';
import { siteAddress } from '../../ui/identifiers.tsx';
import { FailureNote } from '../../ui/panel.tsx';
import { type DefinitionDraft, isSelector } from './definition_form.ts';

/** A choice that was checked. */
export interface Picked {
  selector: string;
  trigger: 'click' | 'submit' | 'change';
  path: string;
  tag: string;
  label: string;
  /** How many elements the selector finds on that page; null: not told. */
  count: number | null;
}

/** A page that was opened to choose on. */
interface Opened {
  tab: Window;
  nonce: string;
}

type State = 'waiting' | 'choosing' | 'cut';

const STATES: Readonly<Record<State, string>> = {
  waiting: 'Waiting for the page. If nothing appears there, the tag is not on it, or its script was kept from loading.',
  choosing: 'Choose an element in the other tab.',
  cut: 'The tab was closed, or its page cuts the way back (Cross-Origin-Opener-Policy). Then copy the choice there and paste it here.',
};
const LOOK_MS = 500;

interface PickDialogProps {
  siteId: string;
  onPicked(picked: Picked): void;
  onClose(): void;
}

export function PickDialog({ siteId, onPicked, onClose }: PickDialogProps) {
  const stored = `svc_pick.${siteId}`;
  const [address, setAddress] = useState(() => readStored(() => sessionStorage, stored) ?? '');
  const [pasted, setPasted] = useState('');
  const [problem, setProblem] = useState('');
  const [opened, setOpened] = useState<Opened | null>(null);
  const [state, setState] = useState<State>('waiting');
  const keys = useList<KeyItem>(mayAt('keys.read', siteId) ? '/v1/admin/keys' : null, { site_id: siteId });
  const domains = useList<DomainItem>('/v1/admin/domains', { site_id: siteId });
  const origins = ownOrigins(keys.value?.items ?? [], domains.value?.items ?? []);
  const isOwn = (origin: string): boolean => origins.some((one) => isOriginAllowed(one, origin));
  // The opened page could lead this tab elsewhere: the browser asks first.
  useLoss(opened !== null);
  useEffect(() => {
    if (opened === null) return undefined;
    const { tab, nonce } = opened;
    const hear = ({ source, origin, data }: MessageEvent<unknown>): void => {
      if (source !== tab || !isOwn(origin)) return;
      const said = readMessage(data, nonce, origin);
      if (said === 'ready') setState('choosing');
      else if (said === 'malformed') setProblem('The page sent a choice that cannot be used.');
      else if (said !== null) {
        tab.postMessage({ svc_heard: nonce }, origin);
        onPicked(said);
      }
    };
    addEventListener('message', hear);
    const timer = setInterval(() => tab.closed && setState('cut'), LOOK_MS);
    return () => {
      removeEventListener('message', hear);
      clearInterval(timer);
    };
  });
  useEffect(() => () => opened?.tab.close(), [opened]);
  const open = (): void => {
    const nonce = crypto.randomUUID();
    const page = pickAddress(address, nonce);
    if (page === null || !isOwn(page.origin)) {
      setProblem(page === null ? 'Enter a URL such as https://shop.example/cart.' : NOT_OWN);
      return;
    }
    writeStored(() => sessionStorage, stored, address.trim());
    const tab = window.open(page.href, '_blank');
    setProblem(tab === null ? 'The browser blocked the new tab.' : '');
    setState('waiting');
    setOpened(tab && { tab, nonce });
  };
  const paste = (): void => {
    const picked = readPasted(pasted, address);
    if (picked === null) setProblem('What was pasted is neither a choice nor a CSS selector.');
    else onPicked(picked);
  };
  return (
    <Dialog title="Choose on your page" onClose={onClose}>
      <form class="stack" onSubmit={submitHandler(open)}>
        <FailureNote failure={keys.failure ?? domains.failure} again={keys.again} />
        <TextField
          label="Page URL"
          type="url"
          required
          placeholder="https://shop.example/product/1"
          hint="A page with the tag. It opens in a new tab; this visit is not counted."
          value={address}
          onValue={setAddress}
        />
        {problem !== '' && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        {problem === NOT_OWN && <a href={siteAddress(siteId, 'keys')}>Keys and their allowed origins</a>}
        <div class="actions">
          <Button type="submit" kind={opened === null ? 'primary' : null} label="Open the page" />
        </div>
      </form>
      {opened !== null && (
        <form class="stack" onSubmit={submitHandler(paste)}>
          <p role="status">{STATES[state]}</p>
          <TextField
            label="Choice copied from the page"
            required
            lines={3}
            hint="Only where the page could not hand it over. A CSS selector will do."
            value={pasted}
            onValue={setPasted}
          />
          <div class="actions">
            <Button type="submit" label="Use it" />
          </div>
        </form>
      )}
    </Dialog>
  );
}

const NOT_OWN = 'This page is on no allowed origin of a browser key, and on no verified domain of the site.';

/** The origins of a site's pages: of its browser keys, and of the name that a verified domain is below. */
export function ownOrigins(
  keys: readonly (Pick<KeyItem, 'caller' | 'state'> & { allowed_origins: readonly string[] })[],
  domains: readonly Pick<DomainItem, 'domain' | 'state'>[],
): string[] {
  const browsers = keys.filter(({ caller, state }) => caller === 'browser' && state === 'active');
  const names = domains
    .filter(({ state }) => state === 'verified' || state === 'failing')
    .map(({ domain }) => registrableDomain(domain) ?? domain);
  return [
    ...browsers.flatMap(({ allowed_origins }) => allowed_origins),
    ...names.flatMap((name) => [`https://${name}`, `https://*.${name}`]),
  ];
}

/**
 * The address that asks a page's tag to let somebody choose; null where the text is no address of a page. A route in the
 * fragment stays.
 */
export function pickAddress(text: string, nonce: string): URL | null {
  const url = URL.parse(text.trim());
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return null;
  const mark = url.hash === '' ? '' : `${url.hash}${url.hash.includes('?') ? '&' : '?'}`;
  url.hash = `${mark}svc-pick=${nonce}`;
  return url;
}

/** What a message of an opened page says; null: nothing to us. */
export function readMessage(
  data: unknown,
  nonce: string,
  origin: string,
  isValid = isSelector,
): Picked | 'ready' | 'malformed' | null {
  if (typeof data !== 'object' || data === null || !('svc_pick' in data) || data.svc_pick !== nonce) return null;
  return 'choice' in data ? (readChoice(data.choice, origin, isValid) ?? 'malformed') : 'ready';
}

const SELECTOR_CHARACTERS_MAX = 1000;
const LABEL_CHARACTERS_MAX = 80;
const PATH_CHARACTERS_MAX = 1000;
const CONTROL = /\p{Cc}/u;

const isText = (value: unknown, max: number): value is string =>
  typeof value === 'string' && value.length <= max && !CONTROL.test(value);

/** A choice by its parts, each of which a hostile page may have made up; null where any is not what it has to be. */
function readChoice(given: unknown, origin: string, isValid: typeof isSelector): Picked | null {
  if (typeof given !== 'object' || given === null) return null;
  const { selector, trigger, url, tag, label, count } = given as Record<string, unknown>;
  const page = typeof url === 'string' ? URL.parse(url) : null;
  if (page?.origin !== origin || page.pathname.length > PATH_CHARACTERS_MAX) return null;
  if (!isText(selector, SELECTOR_CHARACTERS_MAX) || selector.trim() === '' || !isValid(selector)) return null;
  if (trigger !== 'click' && trigger !== 'submit' && trigger !== 'change') return null;
  if (!isText(label, LABEL_CHARACTERS_MAX) || typeof tag !== 'string' || !/^[a-z][\w.:-]{0,60}$/.test(tag)) return null;
  if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) return null;
  return { selector, trigger, path: page.pathname, tag, label, count };
}

/** What somebody copied on the page at that address: a whole choice, or only a selector. */
export function readPasted(text: string, address: string, isValid = isSelector): Picked | null {
  const page = URL.parse(address.trim());
  const copied = text.trim();
  if (page === null || copied === '') return null;
  try {
    return readChoice(JSON.parse(copied), page.origin, isValid);
  } catch {
    const isUsable = isText(copied, SELECTOR_CHARACTERS_MAX) && isValid(copied);
    return isUsable
      ? { selector: copied, trigger: 'click', path: page.pathname, tag: '', label: '', count: null }
      : null;
  }
}

const NAME_CHARACTERS_MAX = 40;

/** What a new definition's form begins with. */
export function draftOfPicked({ selector, trigger, path, label }: Picked): Partial<DefinitionDraft> {
  const words = label.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const id = words.join('-').slice(0, NAME_CHARACTERS_MAX).replace(/-$/, '');
  return { id, name: id.replaceAll('-', '_'), trigger, selector, urlPattern: path };
}

/** Says what was chosen, in the page's own words. */
export function pickedText({ tag, label, path, count }: Picked): string {
  const what = `${tag === '' ? 'An element' : tag}${label === '' ? '' : ` “${label}”`} on ${path}`;
  const found = count === null ? '' : `; the selector finds ${count} there`;
  return `Chosen: ${what}${found}. Review it, then save.`;
}
