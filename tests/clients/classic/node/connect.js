'use strict';

// Connects azure-asm-scheduler 0.10.2 and azure-scheduler 0.10.4 to Minutehand. azure-migration.md shows
// these lines.

function connect(url, token, subscriptionId, cloudService, collection) {
  // shown: azure-scheduler 0.10.4
  const { TokenCloudCredentials } = require('azure-common');
  const { createCloudServiceManagementClient, createSchedulerManagementClient } =
    require('azure-asm-scheduler');
  const { createSchedulerClient } = require('azure-scheduler');

  const credentials = new TokenCloudCredentials({ subscriptionId, token });
  const services = createCloudServiceManagementClient(credentials, url);
  const collections = createSchedulerManagementClient(credentials, url);
  const jobs = createSchedulerClient(cloudService, collection, credentials, url);
  // shown: end
  return { services, collections, jobs };
}

// The same with a client certificate and its key, in one PEM file.
function connectWithCertificate(url, pem, subscriptionId, cloudService, collection) {
  const asm = require('azure-asm-scheduler');
  const { createSchedulerClient } = require('azure-scheduler');

  const credentials = asm.createCertificateCloudCredentials({ subscriptionId, pem });
  return {
    services: asm.createCloudServiceManagementClient(credentials, url),
    collections: asm.createSchedulerManagementClient(credentials, url),
    jobs: createSchedulerClient(cloudService, collection, credentials, url),
  };
}

module.exports = { connect, connectWithCertificate };
