import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { DomainItem, Installation, IssuedKeyItem, KeyItem } from '#services/control_api/sites.ts';
import { type Answer, ask, listAll, request } from '../../api/request.ts';
import { askedWhere, useAction, useAnswer } from '../../api/use_answer.ts';
import { ago, timeOfDay } from '../../format.ts';
import type { PageProps } from '../../page_spec.ts';
import { addressOf } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FormActions, TextField } from '../../ui/form_fields.tsx';
import { Icon } from '../../ui/icon.tsx';
import { CopyButton } from '../../ui/identifiers.tsx';
import { FailureNote, Panel } from '../../ui/panel.tsx';
import { OriginsField } from '../keys/key_fields.tsx';
import { originLines } from '../keys/key_form.ts';
import {
  askedFrom,
  browserQuestion,
  cameSince,
  edgeOrigin,
  isBrowserKey,
  KEY_PLACEHOLDER,
  likelyOrigins,
  pageOf,
  snippet,
  usualEdge,
  type Watched,
} from './snippet.ts';

/** From nothing to the first event: a key, the line for the pages, and waiting until an event comes. */
export default function InstallPage({ params }: PageProps): VNode {
  const siteId = params['site'] ?? '';
  const [key, setKey] = useState('');
  const [ownEdge, setOwnEdge] = useState<string | null>(null);
  const domains = useAnswer(siteId, (signal) =>
    listAll<DomainItem>('/v1/admin/domains', { site_id: siteId }, 1_000, signal),
  );
  const installation = useAnswer('installation', (signal) =>
    request<Installation>('GET', '/v1/admin/installation', { signal }),
  );
  const edgeText = ownEdge ?? usualEdge(domains.value?.items ?? [], installation.value?.edge_url ?? null);
  const edge = edgeOrigin(edgeText);
  const hasKey = isBrowserKey(key.trim());
  const line = edge === null ? null : snippet(edge, hasKey ? key.trim() : KEY_PLACEHOLDER);
  return (
    <ol class="stack steps">
      <li>
        <Panel title="1. A key for the pages">
          <ChooseKey siteId={siteId} value={key} origins={likelyOrigins(domains.value?.items ?? [])} onValue={setKey} />
        </Panel>
      </li>
      <li>
        <Panel title="2. One line in the head of every page">
          <div class="stack narrow">
            <TextField
              label="Where the tag is loaded from"
              type="url"
              hint="The edge, or a verified domain of your own that leads to it."
              problem={edgeText !== '' && edge === null ? 'This is no address such as https://edge.example.' : ''}
              value={edgeText}
              onValue={setOwnEdge}
            />
            {line === null ? (
              <p class="muted">The line stands here as soon as there is an address.</p>
            ) : (
              <>
                <div class="secret">
                  <code>{line}</code>
                  <CopyButton text={line} what="line" />
                </div>
                {!hasKey && (
                  <p class="note note-warn">
                    <span>
                      <code>{KEY_PLACEHOLDER}</code> stands where your key goes: paste the key above, and the line has
                      it.
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
  /** Origins that the pages of the site likely have. */
  origins: readonly string[];
  onValue(key: string): void;
}

/** A browser key for the line: one that is pasted, as keys are shown once, or a new one. */
function ChooseKey({ siteId, value, origins, onValue }: ChooseKeyProps): VNode {
  const [isAsked, setAsked] = useState(false);
  const [issued, setIssued] = useState<string | null>(null);
  const query = { site_id: siteId };
  const asked = useAnswer(
    siteId,
    askedWhere(mayAt('keys.read', siteId), (signal) => listAll<KeyItem>('/v1/admin/keys', query, 1_000, signal)),
  );
  const keys = asked.value?.items.filter(({ caller, state }) => caller === 'browser' && state === 'active') ?? null;
  const given = value.trim();
  return (
    <div class="stack narrow">
      <p>
        A key is shown once, when it is issued; only its hash is stored, so that no line can be made of it later. Paste
        it out of a page that has it, or issue another one: the old one goes on working.
      </p>
      {keys !== null && keys.length > 0 && <Existing keys={keys} />}
      {asked.failure !== null && <FailureNote failure={asked.failure} again={asked.again} />}
      <TextField
        label="Browser key"
        placeholder="svc_pk_…"
        autocomplete="off"
        hint={
          issued !== null && given === issued
            ? 'It is new, and public: it stands in the pages. It is shown this once.'
            : 'It begins with svc_pk_.'
        }
        problem={problemOfKey(given, issued, keys)}
        value={value}
        onValue={onValue}
      />
      <p class="row">
        {mayAt('keys.change', siteId) && (
          <button type="button" class="button" onClick={() => setAsked(true)}>
            Issue a key
          </button>
        )}
        <a href={addressOf(`/sites/${encodeURIComponent(siteId)}/keys`)}>All keys</a>
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
  if (!isBrowserKey(given)) return 'A browser key begins with svc_pk_.';
  const isOfSite = keys?.some(({ shown_prefix }) => given.startsWith(shown_prefix)) ?? true;
  return isOfSite ? '' : 'This is no browser key of this site that works.';
}

function Existing({ keys }: { keys: readonly KeyItem[] }): VNode {
  return (
    <div class="stack-small">
      <p>You have {keys.length === 1 ? 'this one' : 'these'}: paste it here.</p>
      <ul class="stack-small">
        {keys.map(({ key_hash, shown_prefix, label }) => (
          <li key={key_hash} class="wraps">
            <code>{shown_prefix}…</code> {label}
          </li>
        ))}
      </ul>
    </div>
  );
}

interface IssueHereProps {
  siteId: string;
  offered: readonly string[];
  onIssued(secret: string): void;
  onClose(): void;
}

function IssueHere({ siteId, offered, onIssued, onClose }: IssueHereProps): VNode {
  const [origins, setOrigins] = useState('');
  const action = useAction();
  const issue = async (event: Event): Promise<void> => {
    event.preventDefault();
    const body = { site_id: siteId, caller: 'browser', label: 'Web pages', allowed_origins: originLines(origins) };
    const answer = await action.run(() => request<IssuedKeyItem>('POST', '/v1/admin/keys', { body }));
    if (answer !== null) onIssued(answer.secret);
  };
  return (
    <Dialog title="Issue a key for the pages" isChanged={origins !== ''} onClose={onClose}>
      <form class="stack" onSubmit={(event) => void issue(event)}>
        <OriginsField value={origins} offered={offered} failure={action.failure} onValue={setOrigins} />
        {action.failure !== null && <FailureNote failure={action.failure} />}
        <FormActions action="Issue" disabled={action.isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}

const EVERY_MS = 2_000;
/** How far back it is looked for events of browsers when the page is opened: a short time first, which costs little. */
const LOOKS_BACK_MS = [600_000, 7 * 86_400_000];

/** Waits for an event that a browser sent, and turns green when there is one. */
function FirstEvent({ siteId }: { siteId: string }): VNode {
  const [watched, setWatched] = useState<Watched | null>(null);
  const isThere = watched !== null && cameSince(watched);
  const asked = useAnswer(
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
        {watched?.newest == null ? '' : isThere ? 'An event of a browser came' : 'Browsers have sent events'}
      </p>
      {asked.failure !== null && <FailureNote failure={asked.failure} again={asked.again} />}
      {watched !== null && watched.newest !== null ? (
        <Arrived siteId={siteId} event={watched.newest} isNew={isThere} />
      ) : (
        <>
          <p class="visitors-now first-event">
            <span class="pulse" aria-hidden="true" /> Waiting for an event of a browser. Open one of the pages in one.
          </p>
          <p class="muted">
            Nothing comes? A key that is mistyped or not of this site is answered 403, which stands in the browser’s
            console and nowhere here. A browser that a program drives counts as a bot, and a page whose origin the key
            does not allow is refused: both stand under{' '}
            <a href={addressOf(`/sites/${encodeURIComponent(siteId)}/refusals`)}>Not accepted</a>.
          </p>
        </>
      )}
    </div>
  );
}

/** Looks once: the first time back in time, later for what is newer than what is known. */
async function look(siteId: string, watched: Watched | null, signal: AbortSignal): Promise<Answer<Watched>> {
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
  /** Whether it came since the page was opened. */
  isNew: boolean;
}

function Arrived({ siteId, event, isNew }: ArrivedProps): VNode {
  const home = (page: string): string => addressOf(`/sites/${encodeURIComponent(siteId)}/${page}`);
  const page = pageOf(event);
  const from = page === '' ? ', without the address of a page' : ' from ';
  return (
    <div class="note note-good">
      <Icon name="check" />
      <div>
        <p class="strong">
          {isNew
            ? 'Events arrive'
            : `Events of browsers arrive, the last one came ${ago(event.received_at, Date.now())}`}
        </p>
        <p class="wraps">
          <code>{event.event}</code> came at {timeOfDay(event.received_at)}
          {from}
          {page !== '' && <code>{page}</code>}.
        </p>
        <p>
          <a href={home('overview')}>Go to the overview</a>, or <a href={home('destinations')}>send events on</a>.
        </p>
      </div>
    </div>
  );
}
