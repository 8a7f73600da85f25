import { eventTopology, organizationTopology, siteTopology, submissionTopology, workerTopology } from '@muster/broker';

/** All that is declared for one organization, `portals`, with one job queue and one worker. */
export const P = 'aloe.jobq.';
export const SUBMISSION = `${P}portals.submit.DefaultQueue`;
export const SITE = siteTopology();
export const ORGANIZATION = organizationTopology('portals');
export const SUBMIT = submissionTopology('portals', SUBMISSION);
export const EVENTS = eventTopology('portals');
export const WORKER = workerTopology('portals', 'rack7', 'w-065');

export const TOPOLOGIES = [SITE, ORGANIZATION, SUBMIT, EVENTS, WORKER];
