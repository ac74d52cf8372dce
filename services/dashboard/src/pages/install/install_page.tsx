import { useState } from 'preact/hooks';
import type { Listing, RecentEventsQuery } from '#pipelines/analytics/event_lists.ts';
import { registrableDomain } from '#pipelines/settings/public_suffixes.ts';
import type { RejectionsItem } from '#services/control_api/operations.ts';
import type { DomainItem, Installation, IssuedKeyItem, KeyItem } from '#services/control_api/sites.ts';
import { type ApiResult, ask, request, sitePath } from '../../api/request.ts';
import { useGet, useList, useQuery } from '../../api/use_answer.ts';
import { ago, timeOfDay } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import { mayAt } from '../../session.ts';
import { Button, Icon } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ActionForm, TextField, useDraft } from '../../ui/form_fields.tsx';
import { CopyButton, siteAddress } from '../../ui/identifiers.tsx';
import { FailureNote, Panel } from '../../ui/panel.tsx';
import { OriginsField, originLines } from '../keys/key_fields.tsx';
import { KINDS, reasonText } from '../rejected_events/rejected_events_page.tsx';

export default function InstallPage({ params }: PageProps) {
  const siteId = params['site'] ?? '';
  const [key, setKey] = useState('');
  const [ownEdge, setOwnEdge] = useState<string | null>(null);
  const domains = useList<DomainItem>('/v1/admin/domains', { site_id: siteId });
  const installation = useGet<Installation>('/v1/admin/installation');
  const edgeText = ownEdge ?? usualEdge(domains.value?.items ?? [], installation.value?.edge_url ?? null);
  const edge = edgeOrigin(edgeText);
  const hasKey = isBrowserKey(key.trim());
  const line = edge === null ? null : snippet(edge, hasKey ? key.trim() : KEY_PLACEHOLDER);
  return (
    <ol class="stack steps">
      <li>
        <Panel title="1. A key for your pages">
          <ChooseKey siteId={siteId} value={key} origins={likelyOrigins(domains.value?.items ?? [])} onValue={setKey} />
        </Panel>
      </li>
      <li>
        <Panel title="2. Snippet in the head of every page">
          <div class="stack narrow">
            <TextField
              label="Tag host"
              type="url"
              hint="The edge, or one of your verified domains."
              problem={edgeText !== '' && edge === null ? 'Enter a URL such as https://edge.example.' : ''}
              value={edgeText}
              onValue={setOwnEdge}
            />
            {line === null ? (
              <p class="muted">The snippet appears as soon as there is a host.</p>
            ) : (
              <>
                <div class="secret">
                  <code>{line}</code>
                  <CopyButton text={line} what="snippet" />
                </div>
                {!hasKey && (
                  <p class="note note-warn">
                    <span>
                      <code>{KEY_PLACEHOLDER}</code> is a placeholder: paste your key above.
                    </span>
                  </p>
                )}
              </>
            )}
          </div>
        </Panel>
      </li>
      <li>
        <Panel title="3. The first event">
          <FirstEvent siteId={siteId} />
        </Panel>
      </li>
    </ol>
  );
}

interface ChooseKeyProps {
  siteId: string;
  value: string;
  origins: readonly string[];
  onValue(key: string): void;
}

/** A browser key for the line: one that there is, a new one, or one that is pasted, as those of before 0.3.0 are not readable. */
function ChooseKey({ siteId, value, origins, onValue }: ChooseKeyProps) {
  const [isAsked, setAsked] = useState(false);
  const [issued, setIssued] = useState<string | null>(null);
  const mayRead = mayAt('keys.read', siteId);
  const asked = useList<KeyItem>(mayRead ? '/v1/admin/keys' : null, { site_id: siteId });
  const keys = asked.value?.items.filter(({ caller, state }) => caller === 'browser' && state === 'active') ?? null;
  const given = value.trim();
  return (
    <div class="stack narrow">
      <p>Use a key that there is, or issue a new one: existing keys keep working.</p>
      {keys !== null && keys.length > 0 && <Existing keys={keys} onUsed={onValue} />}
      <FailureNote failure={asked.failure} again={asked.again} />
      <TextField
        label="Browser key"
        placeholder="svc_pk_…"
        autocomplete="off"
        hint={issued !== null && given === issued ? 'A new public key.' : 'Starts with svc_pk_.'}
        problem={problemOfKey(given, issued, keys)}
        value={value}
        onValue={onValue}
      />
      <p class="row">
        {mayAt('keys.change', siteId) && <Button label="Issue a key" onClick={() => setAsked(true)} />}
        <a href={siteAddress(siteId, 'keys')}>All keys</a>
      </p>
      {isAsked && (
        <IssueHere
          siteId={siteId}
          offered={origins}
          onIssued={(secret) => {
            setIssued(secret);
            setAsked(false);
            onValue(secret);
            asked.again();
          }}
          onClose={() => setAsked(false)}
        />
      )}
    </div>
  );
}

function problemOfKey(given: string, issued: string | null, keys: readonly KeyItem[] | null): string {
  if (given === '' || given === issued) return '';
  if (!isBrowserKey(given)) return 'A browser key starts with svc_pk_.';
  const isOfSite = keys?.some(({ shown_prefix }) => given.startsWith(shown_prefix)) ?? true;
  return isOfSite ? '' : 'This is not an active browser key of this site.';
}

const Existing = ({ keys, onUsed }: { keys: readonly KeyItem[]; onUsed(key: string): void }) => (
  <div class="stack-small">
    <p>{keys.length === 1 ? 'Existing key' : 'Existing keys'}:</p>
    <ul class="stack-small">
      {keys.map(({ key_hash, shown_prefix, public_key, label }) => (
        <li key={key_hash} class="row wraps">
          <code>{public_key ?? `${shown_prefix}…`}</code> {label}
          {public_key !== null && (
            <Button label="Use" aria-label={`Use ${shown_prefix}`} onClick={() => onUsed(public_key)} />
          )}
        </li>
      ))}
    </ul>
  </div>
);

interface IssueHereProps {
  siteId: string;
  offered: readonly string[];
  onIssued(secret: string): void;
  onClose(): void;
}

function IssueHere({ siteId, offered, onIssued, onClose }: IssueHereProps) {
  const { draft, isChanged, field } = useDraft({ origins: '' });
  const allowed_origins = originLines(draft.origins);
  const body = { site_id: siteId, caller: 'browser', label: 'Web pages', allowed_origins };
  return (
    <Dialog title="Issue a browser key" isChanged={isChanged} onClose={onClose}>
      <ActionForm
        action="Issue"
        run={() => request<IssuedKeyItem>('POST', '/v1/admin/keys', { body })}
        onDone={({ secret }) => onIssued(secret)}
        onClose={onClose}
      >
        {(failure) => <OriginsField offered={offered} {...field(failure)('origins', 'allowed_origins')} />}
      </ActionForm>
    </Dialog>
  );
}

const EVERY_MS = 2_000;
/** How far back it is looked for events of browsers when the page is opened: a short time first, which costs little. */
const LOOKS_BACK_MS = [600_000, 7 * 86_400_000];

function FirstEvent({ siteId }: { siteId: string }) {
  const [watched, setWatched] = useState<Watched | null>(null);
  const isThere = watched !== null && cameSince(watched);
  const asked = useQuery(
    siteId,
    async (signal) => {
      const answer = await look(siteId, watched, signal);
      if (answer.ok) setWatched(answer.value);
      return answer;
    },
    isThere ? null : EVERY_MS,
  );
  return (
    <div class="stack">
      {/* Said once: how long ago it was is another text at every look. */}
      <p class="hidden" role="status">
        {watched?.newest == null ? '' : isThere ? 'A browser event arrived' : 'Browser events have arrived'}
      </p>
      <FailureNote failure={asked.failure} again={asked.again} />
      {watched !== null && watched.newest !== null ? (
        <Arrived siteId={siteId} event={watched.newest} isNew={isThere} />
      ) : (
        <p class="row">
          <span class="pulse" aria-hidden="true" /> Waiting for a browser event. Open one of your pages.
        </p>
      )}
      <NotAccepted siteId={siteId} isWaiting={watched?.newest == null} />
    </div>
  );
}

/**
 * What is not accepted now: other pages may send while one is refused. Of what never reached the edge, or came with a key of
 * which nobody knows the site, nothing can be known: that is said while nothing arrives.
 */
function NotAccepted({ siteId, isWaiting }: { siteId: string; isWaiting: boolean }) {
  const [before, setBefore] = useState<Rejections | null>(null);
  const asked = useQuery(
    siteId,
    async (signal) => {
      // All answers begin at the same hour.
      const query = { from: before === null ? Date.now() - HOUR_MS : before.from };
      const answer = await request<Rejections>('GET', sitePath(siteId, 'refusals'), { query, signal });
      if (answer.ok && before === null) setBefore(answer.value);
      return answer;
    },
    EVERY_MS,
  );
  const found = before === null || asked.value === null ? [] : rejectedNow(before, asked.value);
  return (
    <div class="stack-small">
      <p class="hidden" role="status">
        {found.some(({ added }) => added > 0) ? 'The edge did not accept what a page sent' : ''}
      </p>
      {found.map(({ kind, code, count, added }) => (
        <div key={`${kind} ${code}`} class={added > 0 ? 'note note-bad' : 'note note-warn'}>
          <Icon name="warning" />
          <div>
            <p class="strong">
              {KINDS[kind].counted}: <code>{code}</code>, {added > 0 && `${added} since this page was opened`}
              {added > 0 && count > added && ', '}
              {count > added && `${count} since ${timeOfDay(hourOf(before?.from ?? 0))}`}
            </p>
            <p class="wraps">{reasonText(code)}</p>
          </div>
        </div>
      ))}
      <FailureNote failure={asked.failure} again={asked.again} />
      <p class="muted">
        {isWaiting && (
          <>
            {before !== null && found.length === 0 && 'Nothing of this site was rejected since this page was opened. '}
            An unknown key gets a 403 response, which is seen here on a verified domain, where a key of this site alone
            allows the page’s origin, or begins with the same 11 characters; else in the browser’s console. Events with
            a key of another site arrive there. A visitor who gave no consent, or an ad blocker, sends nothing.{' '}
          </>
        )}
        <a href={siteAddress(siteId, 'refusals')}>Rejected events</a>
      </p>
    </div>
  );
}

/** Looks once: the first time back in time, later for what is newer than what is known. */
async function look(siteId: string, watched: Watched | null, signal: AbortSignal): Promise<ApiResult<Watched>> {
  if (watched !== null) {
    const answer = await ask(siteId, 'live', browserQuestion(askedFrom(watched)), signal);
    if (!answer.ok) return answer;
    return { ...answer, value: { ...watched, newest: answer.value.events[0] ?? watched.newest } };
  }
  let openedMs: number | null = null;
  for (const backMs of LOOKS_BACK_MS) {
    const answer = await ask(siteId, 'live', browserQuestion(Date.now() - backMs), signal);
    if (!answer.ok) return answer;
    openedMs ??= answer.value.as_of;
    const [newest] = answer.value.events;
    if (newest !== undefined) return { ...answer, value: { openedMs, newest } };
  }
  return { ok: true, value: { openedMs: openedMs ?? Date.now(), newest: null }, version: null };
}

interface ArrivedProps {
  siteId: string;
  event: Listing['events'][number];
  isNew: boolean;
}

function Arrived({ siteId, event, isNew }: ArrivedProps) {
  const page = pageOf(event);
  const from = page === '' ? ', without a page URL' : ' from ';
  return (
    <div class="note note-good">
      <Icon name="check" />
      <div>
        <p class="strong">
          {isNew
            ? 'Events are arriving'
            : `Browser events are arriving, the last one ${ago(event.received_at, Date.now())}`}
        </p>
        <p class="wraps">
          <code>{event.event}</code> arrived at {timeOfDay(event.received_at)}
          {from}
          {page !== '' && <code>{page}</code>}.
        </p>
        <p>
          <a href={siteAddress(siteId, 'overview')}>Go to the overview</a>, or{' '}
          <a href={siteAddress(siteId, 'destinations')}>add a destination</a>.
        </p>
      </div>
    </div>
  );
}

const BROWSER_KEY = /^svc_pk_[A-Za-z0-9]{1,100}$/;

export const isBrowserKey = (text: string): boolean => BROWSER_KEY.test(text);

/** Stands in the line where the key goes until there is one. */
export const KEY_PLACEHOLDER = 'svc_pk_YOUR_BROWSER_KEY';

/** The address of an edge as the tag is loaded from it: an origin; null where the text is none. */
export function edgeOrigin(text: string): string | null {
  try {
    const url = new URL(text.trim());
    return url.protocol === 'https:' || url.protocol === 'http:' ? url.origin : null;
  } catch {
    return null;
  }
}

/** What is put into the head of every page; both have been checked, so that nothing in them ends the attribute. */
export const snippet = (edge: string, key: string): string =>
  `<script async src="${edge}/svc.min.js" data-key="${key}"></script>`;

/** Origins of pages that are likely the site's: of the name that its domains are below, and of all names there. */
export function likelyOrigins(domains: readonly { domain: string }[]): string[] {
  const names = new Set(domains.map(({ domain }) => registrableDomain(domain) ?? domain));
  return [...names].flatMap((name) => [`https://${name}`, `https://*.${name}`]);
}

/** Where the tag of a site is loaded from: a domain of its own that is served, or else the installation's; empty: not known. */
export function usualEdge(domains: readonly { domain: string; state: string }[], installation: string | null): string {
  const own = domains.find(({ state }) => state === 'verified');
  return own === undefined ? (installation ?? '') : `https://${own.domain}`;
}

type Event = Listing['events'][number];

/** How long it takes at most until an event that arrived can be asked for, nearly always. */
const BECOMES_ROW_MS = 60_000;

export interface Watched {
  /** When the page was opened, by the clock of the service. */
  openedMs: number;
  newest: Event | null;
}

/** Asks for the newest event that came by a browser key: one of a server says nothing about the tag. */
export const browserQuestion = (receivedAfter: number): RecentEventsQuery => ({
  limit: 1,
  received_after: receivedAfter,
  filters: [{ field: { column: 'caller' }, is: 'equal', to: ['browser'] }],
});

/** From when on newer events are asked for: those that arrived just before the page was opened may be no rows yet. */
export const askedFrom = ({ openedMs, newest }: Watched): number => newest?.received_at ?? openedMs - BECOMES_ROW_MS;

/** Whether an event came since the page was opened. */
export const cameSince = ({ openedMs, newest }: Watched): boolean => newest !== null && newest.received_at > openedMs;

type Rejections = Pick<RejectionsItem, 'from' | 'totals'>;

const HOUR_MS = 3_600_000;

/** Rejections are counted by whole hours. */
const hourOf = (ms: number): number => Math.floor(ms / HOUR_MS) * HOUR_MS;

/**
 * What is rejected now, the most recent first: `added` between two looks, `count` from the hour at which both begin. What was
 * dropped before the first, as of bots, is no fault that lasts; warnings are of events that were accepted.
 */
export function rejectedNow(before: Rejections, now: Rejections): (RejectionsItem['totals'][number] & Added)[] {
  const known = new Map(before.totals.map(({ kind, code, count }) => [`${kind} ${code}`, count]));
  return now.totals
    .map((total) => ({ ...total, added: total.count - (known.get(`${total.kind} ${total.code}`) ?? 0) }))
    .filter(({ kind, added }) => kind !== 'warned' && (added > 0 || kind === 'refused' || kind === 'rejected'))
    .sort((a, b) => b.added - a.added || b.count - a.count);
}

interface Added {
  added: number;
}

/** The address of the page that an event came from; empty where it says none. */
export function pageOf({ properties }: Event): string {
  const address = properties['$current_url'] ?? properties['page_location'];
  return typeof address === 'string' ? address : '';
}
