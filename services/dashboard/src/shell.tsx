import type { ComponentType, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Failure } from './api/api_answer.ts';
import { proofAsked } from './ask_for_proof.ts';
import { leaveAsked } from './ask_to_leave.ts';
import { Navigation } from './navigation.tsx';
import { opening } from './page_access.ts';
import { type FoundPage, findPage, SECOND_FACTOR_PATH } from './page_list.ts';
import type { PageProps } from './page_spec.ts';
import { ProofDialog } from './pages/sign_in/proof_dialog.tsx';
import { SignInAgain } from './pages/sign_in/sign_in_again.tsx';
import { SignInPage } from './pages/sign_in/sign_in_page.tsx';
import { addressOf, go, place } from './router.ts';
import { readSites, sites, sitesFailure, siteToOpen } from './site_list.ts';
import { TopBar } from './top_bar.tsx';
import { Confirm } from './ui/dialog.tsx';
import { Empty, FailureNote, Loading } from './ui/states.tsx';
import { Toasts } from './ui/toast.tsx';
import { mayInAccount, readSession, session, who } from './who.ts';

/** Everything on the page: the sign-in page, or navigation, bar and the page that the address names. */
export function Shell(): VNode {
  const now = session.value;
  if (now.state === 'unknown') return <Loading label="Finding out who you are" />;
  if (now.state === 'failed') return <FailureNote failure={now.failure} again={() => void readSession()} />;
  if (now.state === 'signed_out') return <SignInPage />;
  const hasEnded = now.state === 'ended';
  return (
    <>
      <SignedIn key={now.who.id} isHidden={hasEnded} />
      {proofAsked.value !== null && <ProofDialog onSettled={proofAsked.value} />}
      {hasEnded && <SignInAgain who={now.who} />}
      {leaveAsked.value !== null && <LeaveDialog leave={leaveAsked.value} />}
    </>
  );
}

function LeaveDialog({ leave }: { leave(): void }): VNode {
  const stay = (): void => {
    leaveAsked.value = null;
  };
  return (
    <Confirm
      title="Leave this page?"
      action="Leave"
      isDangerous
      onConfirm={() => {
        stay();
        leave();
      }}
      onClose={stay}
    >
      <p>What was typed here and is not saved, or is shown only this once, is lost.</p>
    </Confirm>
  );
}

/** @param isHidden nobody is signed in, and the page keeps what was typed on it. */
function SignedIn({ isHidden }: { isHidden: boolean }): VNode {
  const isConfined = who.value?.second_factor_required === true;
  useEffect(() => {
    if (!isConfined) void readSites();
  }, [isConfined]);
  const { path } = place.value;
  const found = findPage(isConfined ? SECOND_FACTOR_PATH : path);
  useEffect(() => {
    if (path === '/' && siteToOpen.value !== null) goToSite(siteToOpen.value);
  }, [path, siteToOpen.value]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <div class={isHidden ? 'shell shell-hidden' : 'shell'}>
        {!isConfined && <Navigation current={found?.page ?? null} />}
        <div class="shell-body">
          <TopBar page={found?.page ?? null} />
          {sitesFailure.value !== null && <FailureNote failure={sitesFailure.value} again={() => void readSites()} />}
          <main id="main" tabIndex={-1}>
            {found === null ? <Nowhere path={path} /> : <PageOfRole {...found} />}
          </main>
        </div>
      </div>
      <Toasts dialog={null} />
    </>
  );
}

/** Fetches the code of the page that the address names, while the service is asked who looks at it. */
export function fetchPageCode(): void {
  // Where it fails it is fetched again when it is shown, and a failure is shown then.
  findPage(place.value.path)
    ?.page.load()
    .catch(() => undefined);
}

const goToSite = (siteId: string): void => go(addressOf(`/sites/${encodeURIComponent(siteId)}/overview`), 'replace');

function Nowhere({ path }: { path: string }): VNode {
  useEffect(() => {
    document.title = 'Dashboard';
  }, []);
  return (
    <>
      <h1 tabIndex={-1}>Dashboard</h1>
      <NowhereText path={path} />
    </>
  );
}

function NowhereText({ path }: { path: string }): VNode {
  if (path !== '/') return <Empty title="There is no such page">The navigation has those that there are.</Empty>;
  if (sites.value === null) return <Loading />;
  return (
    <Empty title="There is no site yet that you may see">
      {mayInAccount('site.create', null) ? (
        <a class="button primary" href={addressOf('/new-site')}>
          Make a site
        </a>
      ) : (
        'Whoever manages your account can add you to one.'
      )}
    </Empty>
  );
}

/** The page where the person's roles have it, with the focus on its heading. Where they have not, nothing of it is asked for. */
function PageOfRole(found: FoundPage): VNode {
  const { page, params } = found;
  const opens = opening(found);
  useEffect(() => {
    document.title = [page.title, params['site'], 'Dashboard'].filter((part) => part !== undefined).join(' · ');
    focusHeading();
  }, [page, params['site']]);
  return (
    <>
      {/* A heading of its own for each page: one that has the focus already would not be read out. */}
      <h1 key={page.path} tabIndex={-1}>
        {page.title}
      </h1>
      {opens === 'open' && <LoadedPage key={page.path} {...found} />}
      {opens === 'unknown' && <Loading lines={8} />}
      {opens === 'refused' && <p>Your role does not include this page.</p>}
    </>
  );
}

const loaded = new Map<string, ComponentType<PageProps>>();

const CHUNK_MISSING: Failure = {
  status: 0,
  code: 'page_not_loaded',
  message: 'This page could not be loaded. The service may have been updated: reload the browser tab.',
  problems: [],
};

/** Fetches the code of a page where that was not done yet, and shows it. */
function LoadedPage({ page, params }: FoundPage): VNode {
  const [Content, setContent] = useState<ComponentType<PageProps> | null>(() => loaded.get(page.path) ?? null);
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    if (Content !== null) return;
    page.load().then(
      (module) => {
        loaded.set(page.path, module.default);
        setContent(() => module.default);
      },
      () => setMissing(true),
    );
  }, [page, Content]);
  return (
    <>
      {isMissing && <FailureNote failure={CHUNK_MISSING} />}
      {Content === null ? !isMissing && <Loading lines={8} /> : <Content key={params['site']} params={params} />}
    </>
  );
}

let isFirstPage = true;

/** So that those who listen hear which page they came to. The first page begins where the browser begins. */
function focusHeading(): void {
  if (!isFirstPage) document.querySelector<HTMLElement>('main h1')?.focus();
  isFirstPage = false;
}
