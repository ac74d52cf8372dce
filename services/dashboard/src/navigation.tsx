import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { keptPeriod } from './kept_period.ts';
import { maySee } from './page_access.ts';
import { PAGES } from './page_list.ts';
import type { Page } from './page_spec.ts';
import { addressOf, place } from './router.ts';
import { siteOfLinks } from './site_list.ts';
import { Icon } from './ui/icon.tsx';

const GROUPS = ['Analyse', 'Deliver', 'Site', 'Account'] as const;

/** Whether the navigation is unfolded where the screen is narrow. */
export const isUnfolded = signal(false);

/** The pages that the person may see, at the left, or folded away where the screen is narrow. */
export function Navigation({ current }: { current: Page | null }): VNode {
  const { path } = place.value;
  // It folds whenever the person went somewhere.
  useEffect(() => {
    isUnfolded.value = false;
  }, [path]);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') isUnfolded.value = false;
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
  const site = siteOfLinks.value;
  return (
    <nav class={`navigation ${isUnfolded.value ? 'unfolded' : ''}`} id="navigation" aria-label="Pages">
      <p class="brand">
        <Icon name="pulse" /> Events
      </p>
      {GROUPS.map((group) => {
        const pages = PAGES.filter((page) => page.menu?.group === group && isListed(page, site));
        return pages.length === 0 ? null : (
          <div key={group}>
            <p class="navigation-group">{group}</p>
            <ul>
              {pages.map((page) => (
                <li key={page.path}>
                  <a href={linkTo(page, site)} {...(page === current && { 'aria-current': 'page' as const })}>
                    {page.menu !== null && <Icon name={page.menu.icon} />}
                    {page.title}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}

function isListed(page: Page, site: string | null): boolean {
  return (site !== null || !page.path.startsWith('/sites/:site/')) && maySee(page, site);
}

function linkTo({ path, hasPeriod }: Page, site: string | null): string {
  return addressOf(path.replace(':site', encodeURIComponent(site ?? '')), hasPeriod ? keptPeriod.value : null);
}
