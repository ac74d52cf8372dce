import './styles/main.css';
import { render } from 'preact';
import { followProofs } from './ask_for_proof.ts';
import { PAGES } from './page_list.ts';
import { knowPaths, startRouter } from './router.ts';
import { fetchPageCode, Shell } from './shell.tsx';
import { followTheme } from './theme.ts';
import { followSession, readSession } from './who.ts';

followTheme();
followSession();
followProofs();
startRouter();
knowPaths(PAGES.map(({ path }) => path));
void readSession();
fetchPageCode();
const root = document.getElementById('app');
if (root !== null) render(<Shell />, root);
