/**
 * The stack of `../template.yaml`, for those who deploy with the CDK. The template is the only source:
 * all that is done here is to put what `make build` has built in the place of the three paths.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { App, Stack, StackProps, aws_sam as sam } from 'aws-cdk-lib';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import { Asset } from 'aws-cdk-lib/aws-s3-assets';
import { Construct } from 'constructs';

/** Each function of the template, and its folder among the packages. */
const FUNCTIONS = { ApiFunction: 'api', SweeperFunction: 'sweeper', ExecutorFunction: 'executor' };

export interface MinutehandProps extends StackProps {
  /** Where the packages are: a folder for each function, with `bootstrap` in it. */
  readonly packages: string;
  /** Values of the template's parameters. What is not given stays a parameter of the stack. */
  readonly parameters?: Record<string, string>;
}

export class Minutehand extends Stack {
  /** The template, to take resources from and to change them. */
  readonly template: CfnInclude;

  constructor(scope: Construct, id: string, props: MinutehandProps) {
    super(scope, id, props);
    this.template = new CfnInclude(this, 'Template', {
      templateFile: join(__dirname, '..', 'template.yaml'),
      parameters: props.parameters,
    });
    for (const [name, folder] of Object.entries(FUNCTIONS)) {
      const path = join(props.packages, folder);
      if (!existsSync(join(path, 'bootstrap'))) {
        throw new Error(`${path} holds no package: run 'make build' first`);
      }
      const asset = new Asset(this, `${name}Package`, { path });
      const fn = this.template.getResource(name) as sam.CfnFunction;
      fn.codeUri = { bucket: asset.s3BucketName, key: asset.s3ObjectKey };
    }
  }
}

const app = new App();
new Minutehand(app, app.node.tryGetContext('stack') ?? 'minutehand', {
  packages: process.env.MINUTEHAND_PACKAGES ?? join(__dirname, '..', '..', 'target', 'lambda'),
});
