import type { JobNode, JobNodeContext, JobNodeEvent, JobNodeStep } from './job-node.js';
import { stepRunning, stepStarting } from './job-node-execution.js';
import { stay } from './job-node-steps.js';
import { stepReady, stepUnvoted } from './job-node-voting.js';

/** One step of a node inside a job; the states are in `job-node-voting.ts` and `job-node-execution.ts`. */
export function stepNode(node: JobNode, event: JobNodeEvent, context: JobNodeContext): JobNodeStep {
  switch (node.status) {
    case 'new':
      return stepUnvoted(node, event, context);
    case 'ready':
      return node.starting ? stepStarting(node, event, context) : stepReady(node, event, context);
    case 'running':
      return stepRunning(node, event, context);
    default:
      return stay(node);
  }
}
