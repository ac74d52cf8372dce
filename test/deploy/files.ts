// The files of deploy/ that are made of the code, by their paths there.
import { COMPONENT_FILES } from './components.ts';
import { COMPOSE_FILE } from './compose.ts';
import { ENVIRONMENT_FILES } from './environment.ts';
import { RUN_SCRIPT } from './image.ts';
import { BASE_FILES } from './kubernetes.ts';
import { OVERLAY_FILES } from './overlays.ts';

const below = (folder: string, files: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text]));

export const DEPLOY_FILES: Readonly<Record<string, string>> = {
  'run.sh': RUN_SCRIPT,
  'compose.yaml': COMPOSE_FILE,
  ...below('environment', ENVIRONMENT_FILES),
  ...below('kubernetes/base', BASE_FILES),
  ...below('kubernetes/overlays', OVERLAY_FILES),
  ...below('kubernetes/components', COMPONENT_FILES),
};
