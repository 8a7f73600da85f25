import { jobsLayer } from '@muster/jobs';
import { nodesLayer } from '@muster/nodes';
import { type LayerDeclaration, platformLayer } from '@muster/platform/layers';
import { pushLayer } from '@muster/push';
import { rulesLayer } from '@muster/rules';
import { tasksLayer } from '@muster/tasks';

/** Of which the server is made, the lower ones first. */
export const LAYERS: readonly LayerDeclaration[] = [
  platformLayer,
  nodesLayer,
  pushLayer,
  tasksLayer,
  jobsLayer,
  rulesLayer,
];
